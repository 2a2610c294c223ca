"""Generated from spec/ShareAcknowledgeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionData",
    "ShareAcknowledgeResponse",
    "ShareAcknowledgeTopicResponse",
]


class LeaderIdAndEpoch(Message):
    """Leader of the partition, if this broker is not it. (0+)

    Attributes:
        leader_id: Id of the leader, -1 if there is none.
        leader_epoch: Its leader epoch.
    """

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        current_leader: Leader of the partition, if this broker is not it.
    """

    __slots__ = ("partition_index", "error_code", "error_message", "current_leader")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("current_leader", "struct", LeaderIdAndEpoch),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader


class ShareAcknowledgeTopicResponse(Message):
    """Results by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class NodeEndpoint(Message):
    """Where to reach the named leaders. (0+)

    Attributes:
        node_id: Id of the leader.
        host: Host of the leader.
        port: Port of the leader.
        rack: Rack of the leader, or null.
    """

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
        Field("rack", "string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class ShareAcknowledgeResponse(Message):
    """ShareAcknowledgeResponse (response of API 79): versions 1-2, flexible from 0.

    v2 adds the lock timeout (KIP-1222).

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        acquisition_lock_timeout_ms (2+): How long acquired records stay locked, in milliseconds.
        responses: Results by topic.
        node_endpoints: Where to reach the named leaders.
    """

    API_KEY: ClassVar[int] = 79
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("acquisition_lock_timeout_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("responses", "[]struct", ShareAcknowledgeTopicResponse),
        Field("node_endpoints", "[]struct", NodeEndpoint),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is NEW else responses
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
