"""Metadata (key 3): the cluster's brokers, and topics with their leaders.

Versions 0 to 13.

| version | change |
|---|---|
| 0 | an empty list requests all topics; from 1 on null does |
| 1 | all replicas; version 0 has only those on the brokers of the response, and REPLICA_NOT_AVAILABLE if one is not |
| 4 | a request creates topics only if the client allows it |
| 5 | the offline replicas |
| 6 | LISTENER_NOT_FOUND for a leader without the listener of the request; before, LEADER_NOT_AVAILABLE |
| 7 | leader epochs |
| 8 | authorized operations on request |
| 9 | flexible |
| 10 | topic ids |
| 12 | a request may have topic ids without names |
| 13 | an error for the whole response |

The response has the brokers that are not fenced and have the listener of the request. Its controller id is that of one
of them: clients send it admin requests, which any broker forwards. With ZooKeeper it is that of the controller. With
``auto.create.topics.enable`` the broker begins to create the topics that a client names and allows, with
``num.partitions`` and ``default.replication.factor``. Until they exist, they have UNKNOWN_TOPIC_OR_PARTITION, which
clients retry. With ZooKeeper, the broker that is the controller says LEADER_NOT_AVAILABLE, or why it does not create a
topic (createTopicsInZk of Kafka's DefaultAutoTopicCreationManager).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import trio

from kraft.api.alive_brokers import AliveBrokers, alive_brokers
from kraft.api.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kraft.api.context import BrokerContext, ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordination.auto_topic_creation import Creation
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Topic
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal
from kraft.wire.mapped import mapped
from kraft.wire.uuids import ZERO_UUID
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.METADATA,
    versions={ListenerType.BROKER: (0, 13), ListenerType.ZK_BROKER: (0, 13)},
    permissions=(
        (Operation.DESCRIBE, Resource.TOPIC),
        (Operation.CREATE, Resource.CLUSTER),
        (Operation.CREATE, Resource.TOPIC),
    ),
)

_SLICE_PARTITIONS = 200
_STEP_PARTITIONS = 100
_SLICE_NAMES = 1_000
CREATION_WAIT_S = 0.2
"""Not a Kafka setting. The wait for the decision of this broker's controller. Apache Kafka has no limit."""
NULL_MEANS_ALL_VERSION = 1
ALL_REPLICAS_VERSION = 1
BY_ID_VERSION = 12
LISTENER_NOT_FOUND_VERSION = 6


async def at_broker(broker: BrokerContext, request: Request, message: MetadataRequest) -> Reply:
    wanted, _ = await _creating(broker, request, message)
    return await _answer(broker, request, message, wanted, {})


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: MetadataRequest) -> Reply:
    wanted, creation = await _creating(broker, request, message)
    if creation is None or broker.commands.leader_id != broker.node_id:
        return await _answer(broker, request, message, wanted, {})

    async def wait_then_answer() -> MetadataResponse:
        with trio.move_on_after(CREATION_WAIT_S):
            await creation.answered.wait()
        codes = dict.fromkeys(creation.names, ErrorCode.LEADER_NOT_AVAILABLE) | creation.refused
        return await _answer(broker, request, message, wanted, codes)

    return Parked(wait_then_answer)


async def _creating(
    broker: BrokerContext, request: Request, message: MetadataRequest
) -> tuple[Mapping[Any, MetadataRequestTopic], Creation | None]:
    """Begin to create the topics that need it. Return the wanted topics by name or by id, and the creation."""
    by_name, by_id = await _distinct(message.topics or [])
    if request.api_version < BY_ID_VERSION and (by_id or None in by_name):
        # Versions 10 and 11 have topic ids in the request, but cannot return the errors of unknown ids.
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    # If any topic has an id, those without an id are ignored.
    creation = broker.auto_topics.create([] if by_id else await _to_create(broker, message, by_name))
    return by_id or by_name, creation


async def _distinct(
    topics: Iterable[MetadataRequestTopic],
) -> tuple[Mapping[str | None, MetadataRequestTopic], Mapping[UUID, MetadataRequestTopic]]:
    """Return each topic once: those without an id by name, and the others by id."""
    by_name: dict[str | None, MetadataRequestTopic] = {}
    by_id: dict[UUID, MetadataRequestTopic] = {}
    slices = Slices(_SLICE_NAMES)
    for topic in topics:
        if topic.topic_id == ZERO_UUID:
            by_name[topic.name] = topic
        else:
            by_id[topic.topic_id] = topic
        await slices.spend()
    return by_name, by_id


async def _to_create(broker: BrokerContext, message: MetadataRequest, names: Iterable[str | None]) -> list[str]:
    """Return the topics to create: valid names that do not exist, if the broker and the client allow it."""
    created: list[str] = []
    if not broker.config.topics.auto_create_topics_enable or not message.allow_auto_topic_creation:
        return created
    known, slices = broker.image.topic_ids, Slices(_SLICE_NAMES)
    for name in names:
        if name is not None and name not in known and is_valid_topic_name(name):
            created.append(name)
        await slices.spend()
    return created


async def _answer(
    broker: BrokerContext,
    request: Request,
    message: MetadataRequest,
    wanted: Mapping[Any, MetadataRequestTopic],
    missing: Mapping[str, ErrorCode],
) -> MetadataResponse:
    """Describe the wanted topics, or all. ``missing`` has the errors of topics that do not exist yet."""
    image = broker.image
    listener = request.connection.listener
    brokers = alive_brokers(image, listener)
    alive = AliveBrokers(image, listener, frozenset(each.node_id for each in brokers))
    version = request.api_version
    wants_all = message.topics is None or (not message.topics and version < NULL_MEANS_ALL_VERSION)
    operations = TOPIC_OPERATIONS if message.include_topic_authorized_operations else -(2**31)
    slices = Slices(_SLICE_PARTITIONS)
    if wants_all:
        ids = [topic_id for _, topic_id in sorted(image.topic_ids.items())]
        topics = [await _described(image.topics[topic_id], version, alive, operations, slices) for topic_id in ids]
    else:
        topics = [await _wanted(topic, version, alive, operations, slices, missing) for topic in wanted.values()]
    wants_cluster = message.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=brokers,
        cluster_id=broker.cluster_id,
        controller_id=broker.shown_controller(alive.ids),
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if wants_cluster else -(2**31),
    )


async def _wanted(
    wanted: MetadataRequestTopic,
    version: int,
    alive: AliveBrokers,
    operations: int,
    slices: Slices,
    missing: Mapping[str, ErrorCode],
) -> MetadataResponseTopic:
    name = wanted.name if wanted.topic_id == ZERO_UUID else None  # the Java client sends an empty name with an id
    topic = alive.image.topics.get(wanted.topic_id) if name is None else alive.image.topic(name)
    if topic is not None:
        return await _described(topic, version, alive, operations, slices)
    await slices.spend()
    if name is None:
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id)
    is_valid = is_valid_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    return MetadataResponseTopic(missing.get(name, code), name, ZERO_UUID, is_internal(name), [], operations)


async def _described(
    topic: Topic, version: int, alive: AliveBrokers, operations: int, slices: Slices
) -> MetadataResponseTopic:
    states = topic.partitions
    indexes, partitions = sorted(states), list[MetadataResponsePartition]()
    for first in range(0, len(indexes), _STEP_PARTITIONS):
        step = indexes[first : first + _STEP_PARTITIONS]
        partitions += [_partition(index, states[index], version, alive) for index in step]
        await slices.spend(1 + len(step))
    return MetadataResponseTopic(0, topic.name, topic.id, is_internal(topic.name), partitions, operations)


def _partition(index: int, state: Partition, version: int, alive: AliveBrokers) -> MetadataResponsePartition:
    error = alive.leader_error(state)
    if error is ErrorCode.LISTENER_NOT_FOUND and version < LISTENER_NOT_FOUND_VERSION:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    leader = state.leader if error is ErrorCode.NONE else NO_LEADER
    replicas, isr = list(state.replicas), list(state.isr)
    if version < ALL_REPLICAS_VERSION:
        replicas, isr = [[each for each in ids if each in alive.ids] for ids in (replicas, isr)]
        is_short = len(replicas) < len(state.replicas) or len(isr) < len(state.isr)
        error = ErrorCode.REPLICA_NOT_AVAILABLE if is_short and error is ErrorCode.NONE else error
    return MetadataResponsePartition(error, index, leader, state.leader_epoch, replicas, isr, alive.offline(state))


def error(message: MetadataRequest, version: int, code: ErrorCode, text: str | None = None) -> MetadataResponse:
    topics = mapped(message.topics or (), lambda topic: MetadataResponseTopic(code, topic.name or "", topic.topic_id))
    return MetadataResponse(topics=topics, error_code=code if version >= 13 else ErrorCode.NONE)
