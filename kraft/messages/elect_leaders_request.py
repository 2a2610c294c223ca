"""Generated from spec/ElectLeadersRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ElectLeadersRequest", "TopicPartitions"]


class TopicPartitions(Message):
    """Where to elect, or null for every partition. (0+)

    Attributes:
        topic: Name of the topic.
        partitions: Numbers of the partitions.
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


class ElectLeadersRequest(Message):
    """ElectLeadersRequest (request of API 43): versions 0-2, flexible from 2.

    Attributes:
        election_type (1+): 0 elects the preferred replica, 1 any live replica even if records are lost.
        topic_partitions: Where to elect, or null for every partition.
        timeout_ms: How long the server may wait for completion, in milliseconds.
    """

    API_KEY: ClassVar[int] = 43
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("election_type", "topic_partitions", "timeout_ms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("election_type", "int8", versions=(1, OPEN)),
        Field("topic_partitions", "[]struct", TopicPartitions, nullable=(0, OPEN)),
        Field("timeout_ms", "int32", default=60000),
    )

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = NEW,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions
        self.timeout_ms = timeout_ms
