"""DescribeProducers (key 61): the active idempotent producers of a partition (KIP-664). Version 0.

Each replica answers, the leader or not: an administrator compares them.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.broker.producer_state import ProducerEntry
from kraft.messages.describe_producers_request import DescribeProducersRequest
from kraft.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.DESCRIBE_PRODUCERS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0)},
    permissions=((Operation.READ, Resource.TOPIC),),
)

_SLICE_PRODUCERS = 250


async def at_broker(broker: BrokerContext, request: Request, message: DescribeProducersRequest) -> Reply:
    topics: dict[str, TopicResponse] = {}
    described: dict[str, set[int]] = {}
    slices = Slices(_SLICE_PRODUCERS)
    for topic in message.topics:
        answers = topics.setdefault(topic.name, TopicResponse(topic.name)).partitions
        indexes = described.setdefault(topic.name, set())
        for index in topic.partition_indexes:
            # A partition that is named again is described once: it may have thousands of producers.
            if index not in indexes:
                indexes.add(index)
                answers.append(_one(broker, topic.name, index))
            await slices.spend(1 + len(answers[-1].active_producers) // 10)
        await slices.spend()
    return DescribeProducersResponse(topics=list(topics.values()))


at_zk_broker = at_broker


def _one(broker: BrokerContext, topic: str, index: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=index, error_message=None)
    try:
        if not is_valid_topic_name(topic):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        replica = broker.replicas.partitions.get(topic, {}).get(index)
        producers = (replica or broker.replicas.leader_of(topic, index)).log.producers
    except KafkaError as refused:
        answer.error_code = refused.code
        if not broker.replicas.partition_count(topic):
            answer.error_message = refused.message
        return answer
    answer.active_producers = mapped(producers.entries(), _state)
    return answer


def _state(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.batches[-1].last_sequence if entry.batches else -1,
        last_timestamp=entry.last_timestamp_ms,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=-1 if entry.transaction_first_offset is None else entry.transaction_first_offset,
    )


def error(
    message: DescribeProducersRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=mapped(
            message.topics,
            lambda topic: TopicResponse(
                name=topic.name,
                partitions=mapped(
                    topic.partition_indexes,
                    lambda index: PartitionResponse(partition_index=index, error_code=code, error_message=text),
                ),
            ),
        )
    )
