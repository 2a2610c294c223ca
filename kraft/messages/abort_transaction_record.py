"""Generated from spec/AbortTransactionRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AbortTransactionRecord"]


class AbortTransactionRecord(Message):
    """AbortTransactionRecord (metadata record, type 25): versions 0, flexible from 0.

    Attributes:
        reason: Why the transaction is dropped, or null.
    """

    API_KEY: ClassVar[int] = 25
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("reason",)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("reason", "string", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), default=None),
    )

    def __init__(
        self,
        reason: str | None = None,
    ) -> None:
        self.reason = reason
