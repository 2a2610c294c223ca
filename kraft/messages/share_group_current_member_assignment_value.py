"""Generated from spec/ShareGroupCurrentMemberAssignmentValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareCurrentTopicPartitions", "ShareGroupCurrentMemberAssignmentValue"]


class ShareCurrentTopicPartitions(Message):
    """Partitions that the member shares. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


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

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_epoch", "int32"),
        Field("previous_member_epoch", "int32"),
        Field("state", "int8"),
        Field("assigned_partitions", "[]struct", ShareCurrentTopicPartitions),
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ShareCurrentTopicPartitions] = NEW,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions
