"""Generated from spec/ConsumerProtocolAssignment.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ConsumerProtocolAssignment", "TopicPartition"]


class TopicPartition(Message):
    """Partitions given to the member. (0+)

    Attributes:
        topic: Topic name.
        partitions: Partition numbers.
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


class ConsumerProtocolAssignment(Message):
    """ConsumerProtocolAssignment (data): versions 0-3.

    Attributes:
        assigned_partitions: Partitions given to the member.
        user_data: Assignor's own data.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)

    __slots__ = ("assigned_partitions", "user_data")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("assigned_partitions", "[]struct", TopicPartition),
        Field("user_data", "bytes", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] = NEW,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions
        self.user_data = user_data
