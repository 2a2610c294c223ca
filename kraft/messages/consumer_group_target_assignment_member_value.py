"""Generated from spec/ConsumerGroupTargetAssignmentMemberValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupTargetAssignmentMemberValue", "TargetTopicPartitions"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TargetTopicPartitions(Message):
    """Partitions that the member shall own. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """ConsumerGroupTargetAssignmentMemberValue (data): versions 0, flexible from 0.

    Attributes:
        topic_partitions: Partitions that the member shall own.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topic_partitions: list[TargetTopicPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", TargetTopicPartitions),)
