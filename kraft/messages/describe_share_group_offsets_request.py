"""Generated from spec/DescribeShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = [
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsRequestGroup",
    "DescribeShareGroupOffsetsRequestTopic",
]


class DescribeShareGroupOffsetsRequestTopic(Message):
    """Topics to describe, null for all. (0+)

    Attributes:
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class DescribeShareGroupOffsetsRequestGroup(Message):
    """Groups whose offsets are asked for. (0+)

    Attributes:
        group_id: Group id.
        topics: Topics to describe, null for all.
    """

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DescribeShareGroupOffsetsRequestTopic, nullable=(0, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics


class DescribeShareGroupOffsetsRequest(Message):
    """DescribeShareGroupOffsetsRequest (request of API 90): versions 0-1, flexible from 0.

    v1 equals v0. Its response has the lag (KIP-1226).

    Attributes:
        groups: Groups whose offsets are asked for.
    """

    API_KEY: ClassVar[int] = 90
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("groups",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("groups", "[]struct", DescribeShareGroupOffsetsRequestGroup),)

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = NEW,
    ) -> None:
        self.groups = [] if groups is NEW else groups
