"""Generated from spec/ShareFetchResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.splice import Records
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "AcquiredRecords",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionData",
    "ShareFetchResponse",
    "ShareFetchableTopicResponse",
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


class AcquiredRecords(Message):
    """Offsets that the member may process. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_count: How often the records were delivered.
    """

    __slots__ = ("first_offset", "last_offset", "delivery_count")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_count", "int16"),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_count = delivery_count


class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        acknowledge_error_code: Error of the acknowledgements, or 0.
        acknowledge_error_message: Text of that error, or null.
        current_leader: Leader of the partition, if this broker is not it.
        records: Record batches.
        acquired_records: Offsets that the member may process.
    """

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "acknowledge_error_code",
        "acknowledge_error_message",
        "current_leader",
        "records",
        "acquired_records",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("acknowledge_error_code", "int16"),
        Field("acknowledge_error_message", "string", nullable=(0, OPEN), default=None),
        Field("current_leader", "struct", LeaderIdAndEpoch),
        Field("records", "records", nullable=(0, 0)),
        Field("acquired_records", "[]struct", AcquiredRecords),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acknowledge_error_code: int = 0,
        acknowledge_error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = NEW,
        records: Records = None,
        acquired_records: list[AcquiredRecords] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.acknowledge_error_code = acknowledge_error_code
        self.acknowledge_error_message = acknowledge_error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader
        self.records = records
        self.acquired_records = [] if acquired_records is NEW else acquired_records


class ShareFetchableTopicResponse(Message):
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


class ShareFetchResponse(Message):
    """ShareFetchResponse (response of API 78): versions 1-2, flexible from 0.

    v2 is as v1.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        acquisition_lock_timeout_ms (1+): How long acquired records stay locked, in milliseconds.
        responses: Results by topic.
        node_endpoints: Where to reach the named leaders.
    """

    API_KEY: ClassVar[int] = 78
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
        Field("acquisition_lock_timeout_ms", "int32", versions=(1, OPEN)),
        Field("responses", "[]struct", ShareFetchableTopicResponse),
        Field("node_endpoints", "[]struct", NodeEndpoint),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareFetchableTopicResponse] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is NEW else responses
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
