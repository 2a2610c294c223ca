"""DescribeTopicPartitions (key 75): topics page by page (KIP-966). Version 0.

Topics are in the order of their names, partitions in that of their numbers. A page has at most
``max.request.partition.size.limit`` partitions (2,000), or fewer if the client requests fewer; the cursor says where
the next page begins. An empty list of topics requests all.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop

from kraft.api.alive_brokers import AliveBrokers
from kraft.api.authorized_operations import TOPIC_OPERATIONS
from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from kraft.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.DESCRIBE, Resource.TOPIC),),
)

_SLICE_PARTITIONS = 500
_SLICE_NAMES = 2_000


async def at_broker(broker: BrokerContext, request: Request, message: DescribeTopicPartitionsRequest) -> Reply:
    cursor = message.cursor
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    names = await _names(message, broker.image.topic_ids)
    most = broker.config.network.max_request_partition_size_limit
    left = max(1, min(message.response_partition_limit, most))
    alive = AliveBrokers.of(broker.image, request.connection.listener)
    response = DescribeTopicPartitionsResponse()
    slices = Slices(_SLICE_PARTITIONS)
    while names:
        name = heappop(names)
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            response.next_cursor = Cursor(name, start)
            break
        topic, next_index = _describe(broker, name, start, left, alive)
        response.topics.append(topic)
        left -= len(topic.partitions)
        await slices.spend(1 + len(topic.partitions))
        if next_index is not None:
            response.next_cursor = Cursor(name, next_index)
            break
    return response


async def _names(message: DescribeTopicPartitionsRequest, known: Iterable[str]) -> list[str]:
    """Return the names from the cursor on as a heap. To sort 100,000 names would take one long step.

    Raises KafkaError INVALID_REQUEST for a cursor at a topic that the request does not name.
    """
    cursor, named = message.cursor, set[str]()
    slices = Slices(_SLICE_NAMES)
    for topic in message.topics:
        named.add(topic.name)
        await slices.spend()
    if cursor is not None and named and cursor.topic_name not in named:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    names = [name for name in named or known if cursor is None or name >= cursor.topic_name]
    await slices.spend(len(names))
    heapify(names)
    return names


def _describe(
    broker: BrokerContext, name: str, start: int, limit: int, alive: AliveBrokers
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """Return the topic with at most ``limit`` partitions from ``start`` on, and the first one of the next page."""
    answer = DescribeTopicPartitionsResponseTopic(name=name, is_internal=is_internal(name))
    answer.topic_authorized_operations = TOPIC_OPERATIONS
    topic = broker.image.topic(name)
    if topic is None:
        valid = is_valid_topic_name(name)
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION
        return answer, None
    answer.topic_id = topic.id
    indexes = [index for index in sorted(topic.partitions) if index >= start]
    answer.partitions = [_partition(index, topic.partitions[index], alive) for index in indexes[:limit]]
    return answer, indexes[limit] if len(indexes) > limit else None


def _partition(index: int, state: Partition, alive: AliveBrokers) -> DescribeTopicPartitionsResponsePartition:
    error_code = alive.leader_error(state)
    return DescribeTopicPartitionsResponsePartition(
        error_code=error_code,
        partition_index=index,
        leader_id=state.leader if error_code is ErrorCode.NONE else NO_LEADER,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=[],  # null is allowed, but the Java client fails on it
        last_known_elr=[],
        offline_replicas=alive.offline(state),
    )


def error(
    message: DescribeTopicPartitionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=mapped(
            message.topics, lambda topic: DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name)
        )
    )
