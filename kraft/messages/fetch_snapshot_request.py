"""Generated from spec/FetchSnapshotRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["FetchSnapshotRequest", "PartitionSnapshot", "SnapshotId", "TopicSnapshot"]


class SnapshotId(Message):
    """The snapshot, named by where it ends. (0+)

    Attributes:
        end_offset: First offset the snapshot does not contain.
        epoch: Epoch of the last record in the snapshot.
    """

    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64"),
        Field("epoch", "int32"),
    )

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class PartitionSnapshot(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition: Number of the partition in its topic.
        current_leader_epoch: Newest epoch the replica knows.
        snapshot_id: The snapshot, named by where it ends.
        position: Byte of the snapshot to start from.
        replica_directory_id (1+): Directory id of the replica.
    """

    __slots__ = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("current_leader_epoch", "int32"),
        Field("snapshot_id", "struct", SnapshotId),
        Field("position", "int64"),
        Field("replica_directory_id", "uuid", versions=(1, OPEN), tag=0, tagged=(1, OPEN), ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId = NEW,
        position: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = SnapshotId() if snapshot_id is NEW else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id


class TopicSnapshot(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", PartitionSnapshot),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionSnapshot] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class FetchSnapshotRequest(Message):
    """FetchSnapshotRequest (request of API 59): versions 0-1, flexible from 0.

    v1 adds the directory id of the replica.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        replica_id: Id of the replica that fetches, or -1.
        max_bytes: Most bytes wanted in all partitions together.
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 59
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), default=None),
        Field("replica_id", "int32", default=-1),
        Field("max_bytes", "int32", default=2147483647),
        Field("topics", "[]struct", TopicSnapshot),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[TopicSnapshot] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is NEW else topics
