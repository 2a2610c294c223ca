"""Generated from spec/DescribeProducersRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DescribeProducersRequest", "TopicRequest"]


class TopicRequest(Message):
    """Topics asked about. (0+)

    Attributes:
        name: Topic name.
        partition_indexes: Partition numbers.
    """

    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partition_indexes", "[]int32"),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes


class DescribeProducersRequest(Message):
    """DescribeProducersRequest (request of API 61): versions 0, flexible from 0.

    Attributes:
        topics: Topics asked about.
    """

    API_KEY: ClassVar[int] = 61
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicRequest),)

    def __init__(
        self,
        topics: list[TopicRequest] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics
