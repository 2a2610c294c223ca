"""Generated from spec/OffsetDeleteRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["OffsetDeleteRequest", "OffsetDeleteRequestPartition", "OffsetDeleteRequestTopic"]


class OffsetDeleteRequestPartition(Message):
    """Partitions whose offsets are dropped. (0+)

    Attributes:
        partition_index: Partition number.
    """

    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Message):
    """Topics whose offsets are dropped. (0+)

    Attributes:
        name: Topic name.
        partitions: Partitions whose offsets are dropped.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OffsetDeleteRequestPartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class OffsetDeleteRequest(Message):
    """OffsetDeleteRequest (request of API 47): versions 0.

    Attributes:
        group_id: Group whose offsets are dropped.
        topics: Topics whose offsets are dropped.
    """

    API_KEY: ClassVar[int] = 47
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", OffsetDeleteRequestTopic),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
