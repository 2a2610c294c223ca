"""Generated from spec/ShareGroupCurrentMemberAssignmentValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareCurrentTopicPartitions", "ShareGroupCurrentMemberAssignmentValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareCurrentTopicPartitions(Message):
    """Partitions that the member shares. (0+)

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
class ShareGroupCurrentMemberAssignmentValue(Message):
    """ShareGroupCurrentMemberAssignmentValue (data): versions 0, flexible from 0.

    Attributes:
        member_epoch: Member epoch.
        previous_member_epoch: Member epoch before the last change.
        state: Always 0, which is stable.
        assigned_partitions: Partitions that the member shares.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[ShareCurrentTopicPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_epoch", "int32"),
        Field("previous_member_epoch", "int32"),
        Field("state", "int8"),
        Field("assigned_partitions", "[]struct", ShareCurrentTopicPartitions),
    )
