"""Generated from spec/ConsumerGroupCurrentMemberAssignmentValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupCurrentMemberAssignmentValue", "CurrentTopicPartitions"]


class CurrentTopicPartitions(Message):
    """Partitions that the member owns or may take. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
        assignment_epochs: Member epoch in which each partition was assigned. Empty before Kafka 4.3.
    """

    __slots__ = ("topic_id", "partitions", "assignment_epochs")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
        Field("assignment_epochs", "[]int32", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), ignorable=True),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = NEW,
        assignment_epochs: list[int] | None = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions
        self.assignment_epochs = [] if assignment_epochs is NEW else assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """ConsumerGroupCurrentMemberAssignmentValue (data): versions 0, flexible from 0.

    Attributes:
        member_epoch: Member epoch.
        previous_member_epoch: Member epoch before the last change.
        state: 0 is stable, 1 has partitions to revoke, 2 waits for partitions of other members.
        assigned_partitions: Partitions that the member owns or may take.
        partitions_pending_revocation: Partitions that the member must give up.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_epoch", "int32"),
        Field("previous_member_epoch", "int32"),
        Field("state", "int8"),
        Field("assigned_partitions", "[]struct", CurrentTopicPartitions),
        Field("partitions_pending_revocation", "[]struct", CurrentTopicPartitions),
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[CurrentTopicPartitions] = NEW,
        partitions_pending_revocation: list[CurrentTopicPartitions] = NEW,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions
        self.partitions_pending_revocation = (
            [] if partitions_pending_revocation is NEW else partitions_pending_revocation
        )
