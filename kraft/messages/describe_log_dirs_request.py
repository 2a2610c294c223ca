"""Generated from spec/DescribeLogDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribableLogDirTopic", "DescribeLogDirsRequest"]


class DescribableLogDirTopic(Message):
    """Topics of interest, or null for all. (0+)

    Attributes:
        topic: Name of the topic.
        partitions: Numbers of the partitions of interest.
    """

    __slots__ = ("topic", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions


class DescribeLogDirsRequest(Message):
    """DescribeLogDirsRequest (request of API 35): versions 0-5, flexible from 2.

    Attributes:
        topics: Topics of interest, or null for all.
    """

    API_KEY: ClassVar[int] = 35
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", DescribableLogDirTopic, nullable=(0, OPEN)),)

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics
