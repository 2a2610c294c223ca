"""Generated from spec/FetchResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.splice import Records
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "AbortedTransaction",
    "EpochEndOffset",
    "FetchResponse",
    "FetchableTopicResponse",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionData",
    "SnapshotId",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EpochEndOffset(Message):
    """Where the follower's log leaves the leader's; the follower truncates and asks again. (12+)

    Attributes:
        epoch (12+): Largest epoch known not to be past the follower's last one.
        end_offset (12+): Offset after the last record of that epoch.
    """

    epoch: int = -1
    end_offset: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32", versions=(12, OPEN), default=-1),
        Field("end_offset", "int64", versions=(12, OPEN), default=-1),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class LeaderIdAndEpoch(Message):
    """Leader the reader should turn to. (12+)

    Attributes:
        leader_id (12+): Leader's id, -1 if unknown.
        leader_epoch (12+): Newest leader epoch known here.
    """

    leader_id: int = -1
    leader_epoch: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32", versions=(12, OPEN), default=-1),
        Field("leader_epoch", "int32", versions=(12, OPEN), default=-1),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SnapshotId(Message):
    """Snapshot to load first, because the log no longer reaches back to the fetch offset. (12+)

    Attributes:
        end_offset (12+): Offset after the last record in the snapshot.
        epoch (12+): Epoch of the last record in the snapshot.
    """

    end_offset: int = -1
    epoch: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64", versions=(12, OPEN), default=-1),
        Field("epoch", "int32", versions=(12, OPEN), default=-1),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AbortedTransaction(Message):
    """Aborted transactions among the records, null below read_committed. (4+)

    Attributes:
        producer_id (4+): Producer whose transaction was aborted.
        first_offset (4+): Its first offset.
    """

    producer_id: int = 0
    first_offset: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64", versions=(4, OPEN)),
        Field("first_offset", "int64", versions=(4, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """Records per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition.
        high_watermark: High watermark, -1 if unknown.
        last_stable_offset (4+): Offset below which every transaction is decided.
        log_start_offset (5+): First offset the partition still holds.
        diverging_epoch (12+): Where the follower's log leaves the leader's; the follower truncates and asks again.
        current_leader (12+): Leader the reader should turn to.
        snapshot_id (12+): Snapshot to load first, because the log no longer reaches back to the fetch offset.
        aborted_transactions (4+): Aborted transactions among the records, null below read_committed.
        preferred_read_replica (11+): Replica to read from next time, -1 for this one.
        records: Record batches; the last one may be cut short.
    """

    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = attrs.Factory(EpochEndOffset)
    current_leader: LeaderIdAndEpoch = attrs.Factory(LeaderIdAndEpoch)
    snapshot_id: SnapshotId = attrs.Factory(SnapshotId)
    aborted_transactions: list[AbortedTransaction] | None = attrs.Factory(list)
    preferred_read_replica: int = -1
    records: Records = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("high_watermark", "int64"),
        Field("last_stable_offset", "int64", versions=(4, OPEN), default=-1, ignorable=True),
        Field("log_start_offset", "int64", versions=(5, OPEN), default=-1, ignorable=True),
        Field("diverging_epoch", "struct", EpochEndOffset, versions=(12, OPEN), tag=0, tagged=(12, OPEN)),
        Field("current_leader", "struct", LeaderIdAndEpoch, versions=(12, OPEN), tag=1, tagged=(12, OPEN)),
        Field("snapshot_id", "struct", SnapshotId, versions=(12, OPEN), tag=2, tagged=(12, OPEN)),
        Field(
            "aborted_transactions",
            "[]struct",
            AbortedTransaction,
            versions=(4, OPEN),
            nullable=(4, OPEN),
            ignorable=True,
        ),
        Field("preferred_read_replica", "int32", versions=(11, OPEN), default=-1),
        Field("records", "records", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class FetchableTopicResponse(Message):
    """Records per topic. (0+)

    Attributes:
        topic (0-12): Topic name.
        topic_id (13+): Topic id.
        partitions: Records per partition.
    """

    topic: str = ""
    topic_id: UUID = ZERO_UUID
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string", versions=(0, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class NodeEndpoint(Message):
    """Addresses of every leader named in CurrentLeader. (16+)

    Attributes:
        node_id (16+): Broker id.
        host (16+): Host name.
        port (16+): Port number.
        rack (16+): Rack, null if it has none.
    """

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(16, OPEN)),
        Field("host", "string", versions=(16, OPEN)),
        Field("port", "int32", versions=(16, OPEN)),
        Field("rack", "string", versions=(16, OPEN), nullable=(16, OPEN), default=None),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class FetchResponse(Message):
    """FetchResponse (response of API 1): versions 0-18, flexible from 12.

    v4 adds the last stable offset, v7 sessions, v11 the preferred replica, v12 divergence, leader and snapshot hints,
    v13 topic ids, v16 leader addresses.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code (7+): Error of the whole request, such as an unknown session.
        session_id (7+): Session to go on with, 0 for none.
        responses: Records per topic.
        node_endpoints (16+): Addresses of every leader named in CurrentLeader.
    """

    API_KEY: ClassVar[int] = 1
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 18)
    FLEXIBLE_FROM: ClassVar[int] = 12

    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = attrs.Factory(list)
    node_endpoints: list[NodeEndpoint] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16", versions=(7, OPEN), ignorable=True),
        Field("session_id", "int32", versions=(7, OPEN)),
        Field("responses", "[]struct", FetchableTopicResponse),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(16, OPEN), tag=0, tagged=(16, OPEN)),
    )
