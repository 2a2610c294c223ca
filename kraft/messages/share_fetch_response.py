"""Generated from spec/ShareFetchResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
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


@attrs.define(eq=False, repr=False, weakref_slot=False)
class LeaderIdAndEpoch(Message):
    """Leader of the partition, if this broker is not it. (0+)

    Attributes:
        leader_id: Id of the leader, -1 if there is none.
        leader_epoch: Its leader epoch.
    """

    leader_id: int = 0
    leader_epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AcquiredRecords(Message):
    """Offsets that the member may process. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_count: How often the records were delivered.
    """

    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_count", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = attrs.Factory(LeaderIdAndEpoch)
    records: Records = None
    acquired_records: list[AcquiredRecords] = attrs.Factory(list)

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


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareFetchableTopicResponse(Message):
    """Results by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class NodeEndpoint(Message):
    """Where to reach the named leaders. (0+)

    Attributes:
        node_id: Id of the leader.
        host: Host of the leader.
        port: Port of the leader.
        rack: Rack of the leader, or null.
    """

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
        Field("rack", "string", nullable=(0, OPEN), default=None),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = attrs.Factory(list)
    node_endpoints: list[NodeEndpoint] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("acquisition_lock_timeout_ms", "int32", versions=(1, OPEN)),
        Field("responses", "[]struct", ShareFetchableTopicResponse),
        Field("node_endpoints", "[]struct", NodeEndpoint),
    )
