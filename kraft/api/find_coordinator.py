"""FindCoordinator (key 10): the broker that coordinates a group, a transactional id or a share partition.

Versions 0 to 6: 1 adds the key type, 3 is flexible, 4 has several keys (KIP-699), 6 may request share groups.

The first request with a valid key begins to create the topic of the coordinator. It and all others wait for that until
CREATION_WAIT_S after its start. Until the topic exists, responses have COORDINATOR_NOT_AVAILABLE, which clients retry.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from kraft.api.context import BrokerContext, ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordination.auto_topic_creation import Creation
from kraft.coordinator.partitions import HASHED_CHARACTERS, coordinator_partition
from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.FIND_COORDINATOR,
    versions={ListenerType.BROKER: (0, 6), ListenerType.ZK_BROKER: (0, 6)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TRANSACTIONAL_ID)),
)

KEYS_VERSION = 4
SHARE_VERSION = 6
CREATION_WAIT_S = 0.5
"""Not a Kafka setting. The first requests wait for the new topic, because librdkafka repeats a refused one only after a
second, and asks again on another connection 50 ms after the first. A lost controller holds no connection for longer.
Apache Kafka does not wait.
"""
_SLICE_KEYS = 300


class KeyType(enum.IntEnum):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


_TOPICS: Final[Mapping[int, str]] = {
    KeyType.GROUP: OFFSETS_TOPIC,
    KeyType.TRANSACTION: TRANSACTION_TOPIC,
    KeyType.SHARE: SHARE_STATE_TOPIC,
}


async def at_broker(broker: BrokerContext, request: Request, message: FindCoordinatorRequest) -> Reply:
    topic = _TOPICS.get(message.key_type)
    if topic is None or (message.key_type == KeyType.SHARE and request.api_version < SHARE_VERSION):
        return error(message, request.api_version, ErrorCode.INVALID_REQUEST)
    creation = broker.auto_topics.under_way(topic)
    keys = _keys(message, request.api_version)
    if creation is None and not broker.replicas.partition_count(topic) and await _has_valid_key(topic, keys):
        creation = broker.auto_topics.create([topic])
    if creation is None:
        return await _answer(broker, request, message, topic)
    return Parked(partial(_answer_once_created, broker, request, message, topic, creation))


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: FindCoordinatorRequest) -> Reply:
    """Without a quorum there is no share coordinator."""
    if message.key_type == KeyType.SHARE:
        return error(message, request.api_version, ErrorCode.INVALID_REQUEST)
    return await at_broker(broker, request, message)


def _keys(message: FindCoordinatorRequest, version: int) -> list[str]:
    return message.coordinator_keys if version >= KEYS_VERSION else [message.key]


async def _has_valid_key(topic: str, keys: list[str]) -> bool:
    """Whether any key may have a coordinator. Any text is the id of a group or a transactional id."""
    if topic != SHARE_STATE_TOPIC:
        return bool(keys)
    slices = Slices(_SLICE_KEYS)
    for key in keys:
        with suppress(KafkaError):
            _share_partition(key)
            return True
        await slices.spend()
    return False


async def _answer_once_created(
    broker: BrokerContext, request: Request, message: FindCoordinatorRequest, topic: str, creation: Creation
) -> FindCoordinatorResponse:
    with trio.move_on_at(creation.begun_s + CREATION_WAIT_S):
        await creation.answered.wait()
    return await _answer(broker, request, message, topic)


async def _answer(
    broker: BrokerContext, request: Request, message: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    slices = Slices(_SLICE_KEYS)
    found = []
    for key in _keys(message, request.api_version):
        found.append(_find(broker, topic, key, request.connection.listener))
        await slices.spend(1 + len(key) // HASHED_CHARACTERS)
    return _shaped(request.api_version, found)


def _find(broker: BrokerContext, topic: str, key: str, listener: str) -> Coordinator:
    try:
        hashed = key
        if topic == SHARE_STATE_TOPIC:
            hashed = _share_partition(key)
        count = broker.replicas.partition_count(topic)
        if not count:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        index = coordinator_partition(hashed, count)
        leader, _ = broker.replicas.known_leader(topic, index)
        if leader == broker.replicas.node_id and not broker.lazy_coordinators.coordinates(topic, index):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)  # the image is newer than its roles
        registered = broker.image.brokers.get(leader)
        endpoint = None if registered is None or registered.fenced else registered.endpoint(listener)
        if endpoint is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    except KafkaError as refused:
        return _refused(key, refused.code, refused.message)
    return Coordinator(key, leader, endpoint.host, endpoint.port, ErrorCode.NONE, "")


def _share_partition(key: str) -> str:
    """Return the usual form of a share partition's key. Raises KafkaError INVALID_REQUEST."""
    try:
        return SharePartitionKey.from_text(key).coordinator_key
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _refused(key: str, code: ErrorCode, text: str | None) -> Coordinator:
    return Coordinator(key, -1, "", -1, code, text)


def _shaped(version: int, found: list[Coordinator]) -> FindCoordinatorResponse:
    if version >= KEYS_VERSION:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def error(
    message: FindCoordinatorRequest, version: int, code: ErrorCode, text: str | None = None
) -> FindCoordinatorResponse:
    return _shaped(version, mapped(_keys(message, version), lambda key: _refused(key, code, text)))
