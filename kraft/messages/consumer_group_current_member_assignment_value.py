"""Generated from spec/ConsumerGroupCurrentMemberAssignmentValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupCurrentMemberAssignmentValue", "CurrentTopicPartitions"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class CurrentTopicPartitions(Message):
    """Partitions that the member owns or may take. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
        assignment_epochs: Member epoch in which each partition was assigned. Empty before Kafka 4.3.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[int] = attrs.Factory(list)
    assignment_epochs: list[int] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
        Field("assignment_epochs", "[]int32", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[CurrentTopicPartitions] = attrs.Factory(list)
    partitions_pending_revocation: list[CurrentTopicPartitions] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_epoch", "int32"),
        Field("previous_member_epoch", "int32"),
        Field("state", "int8"),
        Field("assigned_partitions", "[]struct", CurrentTopicPartitions),
        Field("partitions_pending_revocation", "[]struct", CurrentTopicPartitions),
    )
