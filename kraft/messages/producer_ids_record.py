"""Generated from spec/ProducerIdsRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ProducerIdsRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ProducerIdsRecord(Message):
    """ProducerIdsRecord (metadata record, type 15): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker that got the block.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
        next_producer_id: First producer id after the block.
    """

    API_KEY: ClassVar[int] = 15
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
        Field("next_producer_id", "int64"),
    )
