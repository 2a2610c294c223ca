"""Generated from spec/EndTxnMarker.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["EndTxnMarker"]


class EndTxnMarker(Message):
    """EndTxnMarker (data): versions 0.

    Value of an abort or commit control record, behind its int16 version.

    Attributes:
        coordinator_epoch: Epoch of the transaction coordinator that wrote the marker.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("coordinator_epoch",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("coordinator_epoch", "int32"),)

    def __init__(
        self,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
