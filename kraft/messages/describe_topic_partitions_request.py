"""Generated from spec/DescribeTopicPartitionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["Cursor", "DescribeTopicPartitionsRequest", "TopicRequest"]


class TopicRequest(Message):
    """The topics to describe. (0+)

    Attributes:
        name: Name of the topic.
    """

    __slots__ = ("name",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("name", "string"),)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class Cursor(Message):
    """Where to go on, or null for the beginning. (0+)

    Attributes:
        topic_name: Name of the first topic to describe.
        partition_index: First partition of that topic to describe.
    """

    __slots__ = ("topic_name", "partition_index")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Message):
    """DescribeTopicPartitionsRequest (request of API 75): versions 0, flexible from 0.

    Attributes:
        topics: The topics to describe.
        response_partition_limit: Most partitions the response may hold.
        cursor: Where to go on, or null for the beginning.
    """

    API_KEY: ClassVar[int] = 75
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics", "response_partition_limit", "cursor")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", TopicRequest),
        Field("response_partition_limit", "int32", default=2000),
        Field("cursor", "struct", Cursor, nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        topics: list[TopicRequest] = NEW,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
