"""Generated from spec/NoOpRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Message

__all__ = ["NoOpRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class NoOpRecord(Message):
    """NoOpRecord (metadata record, type 20): versions 0, flexible from 0."""

    API_KEY: ClassVar[int] = 20
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0
