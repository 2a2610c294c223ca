"""Generated from spec/ShareGroupTargetAssignmentMemberValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareGroupTargetAssignmentMemberValue", "ShareTargetTopicPartitions"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareTargetTopicPartitions(Message):
    """Partitions that the member shall share. (0+)

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
class ShareGroupTargetAssignmentMemberValue(Message):
    """ShareGroupTargetAssignmentMemberValue (data): versions 0, flexible from 0.

    Attributes:
        topic_partitions: Partitions that the member shall share.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topic_partitions: list[ShareTargetTopicPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", ShareTargetTopicPartitions),)
