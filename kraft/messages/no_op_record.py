"""Generated from spec/NoOpRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Message

__all__ = ["NoOpRecord"]


class NoOpRecord(Message):
    """NoOpRecord (metadata record, type 20): versions 0, flexible from 0."""

    API_KEY: ClassVar[int] = 20
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ()
