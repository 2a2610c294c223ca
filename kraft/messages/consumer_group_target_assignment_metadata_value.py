"""Generated from spec/ConsumerGroupTargetAssignmentMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupTargetAssignmentMetadataValue"]


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """ConsumerGroupTargetAssignmentMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        assignment_epoch: Group epoch for which the target assignment was computed.
        assignment_timestamp: When it was computed, in milliseconds; 0 if unknown (KIP-1263).
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("assignment_epoch", "int32"),
        Field("assignment_timestamp", "int64", tag=0, tagged=(0, OPEN), ignorable=True),
    )

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
