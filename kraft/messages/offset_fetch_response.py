"""Generated from spec/OffsetFetchResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "OffsetFetchResponse",
    "OffsetFetchResponseGroup",
    "OffsetFetchResponsePartition",
    "OffsetFetchResponsePartitions",
    "OffsetFetchResponseTopic",
    "OffsetFetchResponseTopics",
]


class OffsetFetchResponsePartition(Message):
    """Offsets per partition. (0-7)

    Attributes:
        partition_index (0-7): Partition number.
        committed_offset (0-7): Offset stored, -1 if there is none.
        committed_leader_epoch (5-7): Leader epoch stored with it, -1 if unknown.
        metadata (0-7): Client's note stored with it.
        error_code (0-7): Error of this partition.
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32", versions=(0, 7)),
        Field("committed_offset", "int64", versions=(0, 7)),
        Field("committed_leader_epoch", "int32", versions=(5, 7), default=-1, ignorable=True),
        Field("metadata", "string", versions=(0, 7), nullable=(0, 7)),
        Field("error_code", "int16", versions=(0, 7)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Message):
    """Offsets per topic. (0-7)

    Attributes:
        name (0-7): Topic name.
        partitions (0-7): Offsets per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 7)),
        Field("partitions", "[]struct", OffsetFetchResponsePartition, versions=(0, 7)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class OffsetFetchResponsePartitions(Message):
    """Offsets per partition. (8+)

    Attributes:
        partition_index (8+): Partition number.
        committed_offset (8+): Offset stored, -1 if there is none.
        committed_leader_epoch (8+): Leader epoch stored with it, -1 if unknown.
        metadata (8+): Client's note stored with it.
        error_code (8+): Error of this partition.
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32", versions=(8, OPEN)),
        Field("committed_offset", "int64", versions=(8, OPEN)),
        Field("committed_leader_epoch", "int32", versions=(8, OPEN), default=-1, ignorable=True),
        Field("metadata", "string", versions=(8, OPEN), nullable=(8, OPEN)),
        Field("error_code", "int16", versions=(8, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopics(Message):
    """Offsets per topic. (8+)

    Attributes:
        name (8-9): Topic name.
        topic_id (10+): Topic id.
        partitions (8+): Offsets per partition.
    """

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(8, 9), ignorable=True),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("partitions", "[]struct", OffsetFetchResponsePartitions, versions=(8, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class OffsetFetchResponseGroup(Message):
    """Offsets per group. (8+)

    Attributes:
        group_id (8+): Group id.
        topics (8+): Offsets per topic.
        error_code (8+): Error of this group.
    """

    __slots__ = ("group_id", "topics", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(8, OPEN)),
        Field("topics", "[]struct", OffsetFetchResponseTopics, versions=(8, OPEN)),
        Field("error_code", "int16", versions=(8, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = NEW,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code


class OffsetFetchResponse(Message):
    """OffsetFetchResponse (response of API 9): versions 0-10, flexible from 6.

    v2 adds a top-level error, v5 leader epochs, v8 one part per group, v10 topic ids.

    Attributes:
        throttle_time_ms (3+): Time the client was held back by a quota, in milliseconds.
        topics (0-7): Offsets per topic.
        error_code (2-7): Error of the whole group.
        groups (8+): Offsets per group.
    """

    API_KEY: ClassVar[int] = 9
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(3, OPEN), ignorable=True),
        Field("topics", "[]struct", OffsetFetchResponseTopic, versions=(0, 7)),
        Field("error_code", "int16", versions=(2, 7), ignorable=True),
        Field("groups", "[]struct", OffsetFetchResponseGroup, versions=(8, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = NEW,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code
        self.groups = [] if groups is NEW else groups
