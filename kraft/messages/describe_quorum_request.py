"""Generated from spec/DescribeQuorumRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DescribeQuorumRequest", "PartitionData", "TopicData"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
    """

    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class DescribeQuorumRequest(Message):
    """DescribeQuorumRequest (request of API 55): versions 0-2, flexible from 0.

    Attributes:
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 55
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicData),)

    def __init__(
        self,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics
