"""Generated from spec/FetchSnapshotRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["FetchSnapshotRequest", "PartitionSnapshot", "SnapshotId", "TopicSnapshot"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SnapshotId(Message):
    """The snapshot, named by where it ends. (0+)

    Attributes:
        end_offset: First offset the snapshot does not contain.
        epoch: Epoch of the last record in the snapshot.
    """

    end_offset: int = 0
    epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64"),
        Field("epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionSnapshot(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition: Number of the partition in its topic.
        current_leader_epoch: Newest epoch the replica knows.
        snapshot_id: The snapshot, named by where it ends.
        position: Byte of the snapshot to start from.
        replica_directory_id (1+): Directory id of the replica.
    """

    partition: int = 0
    current_leader_epoch: int = 0
    snapshot_id: SnapshotId = attrs.Factory(SnapshotId)
    position: int = 0
    replica_directory_id: UUID = ZERO_UUID

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("current_leader_epoch", "int32"),
        Field("snapshot_id", "struct", SnapshotId),
        Field("position", "int64"),
        Field("replica_directory_id", "uuid", versions=(1, OPEN), tag=0, tagged=(1, OPEN), ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicSnapshot(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions of this topic.
    """

    name: str = ""
    partitions: list[PartitionSnapshot] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", PartitionSnapshot),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    cluster_id: str | None = None
    replica_id: int = -1
    max_bytes: int = 2147483647
    topics: list[TopicSnapshot] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), default=None),
        Field("replica_id", "int32", default=-1),
        Field("max_bytes", "int32", default=2147483647),
        Field("topics", "[]struct", TopicSnapshot),
    )
