"""Generated from spec/EndTransactionRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Message

__all__ = ["EndTransactionRecord"]


class EndTransactionRecord(Message):
    """EndTransactionRecord (metadata record, type 24): versions 0, flexible from 0."""

    API_KEY: ClassVar[int] = 24
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ()
