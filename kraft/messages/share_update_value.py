"""Generated from spec/ShareUpdateValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ShareUpdateValue", "StateBatch"]


class StateBatch(Message):
    """Delivery states of records from the start offset on. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_state: 0 available, 2 acknowledged, 4 archived.
        delivery_count: How often the records were delivered.
    """

    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_state", "int8"),
        Field("delivery_count", "int16"),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class ShareUpdateValue(Message):
    """ShareUpdateValue (data): versions 0, flexible from 0.

    Attributes:
        snapshot_epoch: Number of the snapshot, which each later snapshot of the share partition raises.
        leader_epoch: Leader epoch of the topic's partition when this was written.
        start_offset: First offset that the group still has to process, -1 if it is not known.
        delivery_complete_count: Offsets from the start offset on that are acknowledged or archived, -1 if not counted
            (KIP-1226).
        state_batches: Delivery states of records from the start offset on.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("snapshot_epoch", "int32"),
        Field("leader_epoch", "int32"),
        Field("start_offset", "int64"),
        Field("delivery_complete_count", "int32", tag=0, tagged=(0, OPEN), default=-1),
        Field("state_batches", "[]struct", StateBatch),
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = NEW,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is NEW else state_batches
