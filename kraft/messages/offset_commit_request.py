"""Generated from spec/OffsetCommitRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetCommitRequest", "OffsetCommitRequestPartition", "OffsetCommitRequestTopic"]


class OffsetCommitRequestPartition(Message):
    """Offsets per partition. (0+)

    Attributes:
        partition_index: Partition number.
        committed_offset: Next offset the group will read.
        committed_leader_epoch (6+): Leader epoch of the last record read, -1 if unknown.
        commit_timestamp (1): Time of the commit, -1 for the broker's clock.
        committed_metadata: Client's own note, kept with the offset.
    """

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "commit_timestamp",
        "committed_metadata",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("committed_offset", "int64"),
        Field("committed_leader_epoch", "int32", versions=(6, OPEN), default=-1, ignorable=True),
        Field("commit_timestamp", "int64", versions=(1, 1), default=-1),
        Field("committed_metadata", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        commit_timestamp: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.commit_timestamp = commit_timestamp
        self.committed_metadata = committed_metadata


class OffsetCommitRequestTopic(Message):
    """Offsets per topic. (0+)

    Attributes:
        name (0-9): Topic name.
        topic_id (10+): Topic id.
        partitions: Offsets per partition.
    """

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 9), ignorable=True),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("partitions", "[]struct", OffsetCommitRequestPartition),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class OffsetCommitRequest(Message):
    """OffsetCommitRequest (request of API 8): versions 0-10, flexible from 8.

    v1 adds the generation check, v5 drops the retention time, v6 adds leader epochs, v7 static members, v9 the epochs
    of KIP-848 members, v10 topic ids.

    Attributes:
        group_id: Group whose offsets are stored.
        generation_id_or_member_epoch (1+): Generation (classic) or member epoch (KIP-848), -1 for a group without
            members.
        member_id (1+): Member that commits, empty for a group without members.
        group_instance_id (7+): Static member's own name, null for a dynamic member.
        retention_time_ms (2-4): How long to keep the offsets, -1 for the broker's setting.
        topics: Offsets per topic.
    """

    API_KEY: ClassVar[int] = 8
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_FROM: ClassVar[int] = 8

    __slots__ = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("generation_id_or_member_epoch", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("member_id", "string", versions=(1, OPEN), ignorable=True),
        Field("group_instance_id", "string", versions=(7, OPEN), nullable=(7, OPEN), default=None),
        Field("retention_time_ms", "int64", versions=(2, 4), default=-1, ignorable=True),
        Field("topics", "[]struct", OffsetCommitRequestTopic),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is NEW else topics
