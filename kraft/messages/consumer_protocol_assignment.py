"""Generated from spec/ConsumerProtocolAssignment.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerProtocolAssignment", "TopicPartition"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicPartition(Message):
    """Partitions given to the member. (0+)

    Attributes:
        topic: Topic name.
        partitions: Partition numbers.
    """

    topic: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerProtocolAssignment(Message):
    """ConsumerProtocolAssignment (data): versions 0-3.

    Attributes:
        assigned_partitions: Partitions given to the member.
        user_data: Assignor's own data.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)

    assigned_partitions: list[TopicPartition] = attrs.Factory(list)
    user_data: bytes | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("assigned_partitions", "[]struct", TopicPartition),
        Field("user_data", "bytes", nullable=(0, OPEN), default=None),
    )
