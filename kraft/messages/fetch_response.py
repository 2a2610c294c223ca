"""Generated from spec/FetchResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
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


class EpochEndOffset(Message):
    """Where the follower's log leaves the leader's; the follower truncates and asks again. (12+)

    Attributes:
        epoch (12+): Largest epoch known not to be past the follower's last one.
        end_offset (12+): Offset after the last record of that epoch.
    """

    __slots__ = ("epoch", "end_offset")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32", versions=(12, OPEN), default=-1),
        Field("end_offset", "int64", versions=(12, OPEN), default=-1),
    )

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Message):
    """Leader the reader should turn to. (12+)

    Attributes:
        leader_id (12+): Leader's id, -1 if unknown.
        leader_epoch (12+): Newest leader epoch known here.
    """

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32", versions=(12, OPEN), default=-1),
        Field("leader_epoch", "int32", versions=(12, OPEN), default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class SnapshotId(Message):
    """Snapshot to load first, because the log no longer reaches back to the fetch offset. (12+)

    Attributes:
        end_offset (12+): Offset after the last record in the snapshot.
        epoch (12+): Epoch of the last record in the snapshot.
    """

    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64", versions=(12, OPEN), default=-1),
        Field("epoch", "int32", versions=(12, OPEN), default=-1),
    )

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class AbortedTransaction(Message):
    """Aborted transactions among the records, null below read_committed. (4+)

    Attributes:
        producer_id (4+): Producer whose transaction was aborted.
        first_offset (4+): Its first offset.
    """

    __slots__ = ("producer_id", "first_offset")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64", versions=(4, OPEN)),
        Field("first_offset", "int64", versions=(4, OPEN)),
    )

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


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

    __slots__ = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )

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

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset = NEW,
        current_leader: LeaderIdAndEpoch = NEW,
        snapshot_id: SnapshotId = NEW,
        aborted_transactions: list[AbortedTransaction] | None = NEW,
        preferred_read_replica: int = -1,
        records: Records = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is NEW else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is NEW else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is NEW else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Message):
    """Records per topic. (0+)

    Attributes:
        topic (0-12): Topic name.
        topic_id (13+): Topic id.
        partitions: Records per partition.
    """

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string", versions=(0, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class NodeEndpoint(Message):
    """Addresses of every leader named in CurrentLeader. (16+)

    Attributes:
        node_id (16+): Broker id.
        host (16+): Host name.
        port (16+): Port number.
        rack (16+): Rack, null if it has none.
    """

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(16, OPEN)),
        Field("host", "string", versions=(16, OPEN)),
        Field("port", "int32", versions=(16, OPEN)),
        Field("rack", "string", versions=(16, OPEN), nullable=(16, OPEN), default=None),
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

    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16", versions=(7, OPEN), ignorable=True),
        Field("session_id", "int32", versions=(7, OPEN)),
        Field("responses", "[]struct", FetchableTopicResponse),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(16, OPEN), tag=0, tagged=(16, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is NEW else responses
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
