"""Generated from spec/BeginTransactionRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["BeginTransactionRecord"]


class BeginTransactionRecord(Message):
    """BeginTransactionRecord (metadata record, type 23): versions 0, flexible from 0.

    Attributes:
        name: What the transaction is for, or null.
    """

    API_KEY: ClassVar[int] = 23
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name",)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", nullable=(0, OPEN), tag=0, tagged=(0, OPEN), default=None),
    )

    def __init__(
        self,
        name: str | None = None,
    ) -> None:
        self.name = name
