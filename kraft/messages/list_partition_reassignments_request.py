"""Generated from spec/ListPartitionReassignmentsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListPartitionReassignmentsRequest", "ListPartitionReassignmentsTopics"]


class ListPartitionReassignmentsTopics(Message):
    """Topics of interest, or null for all. (0+)

    Attributes:
        name: Name of the topic.
        partition_indexes: Numbers of the partitions of interest.
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


class ListPartitionReassignmentsRequest(Message):
    """ListPartitionReassignmentsRequest (request of API 46): versions 0, flexible from 0.

    Attributes:
        timeout_ms: How long the server may wait for completion, in milliseconds.
        topics: Topics of interest, or null for all.
    """

    API_KEY: ClassVar[int] = 46
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("timeout_ms", "int32", default=60000),
        Field("topics", "[]struct", ListPartitionReassignmentsTopics, nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
