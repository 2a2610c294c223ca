"""Generated from spec/AlterShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = [
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsRequestPartition",
    "AlterShareGroupOffsetsRequestTopic",
]


class AlterShareGroupOffsetsRequestPartition(Message):
    """Partitions. (0+)

    Attributes:
        partition_index: Partition number.
        start_offset: First offset that the group delivers from now on.
    """

    __slots__ = ("partition_index", "start_offset")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("start_offset", "int64"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset


class AlterShareGroupOffsetsRequestTopic(Message):
    """Topics whose start offsets change. (0+)

    Attributes:
        topic_name: Topic name.
        partitions: Partitions.
    """

    __slots__ = ("topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", AlterShareGroupOffsetsRequestPartition),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class AlterShareGroupOffsetsRequest(Message):
    """AlterShareGroupOffsetsRequest (request of API 91): versions 0, flexible from 0.

    Attributes:
        group_id: Group id.
        topics: Topics whose start offsets change.
    """

    API_KEY: ClassVar[int] = 91
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", AlterShareGroupOffsetsRequestTopic),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
