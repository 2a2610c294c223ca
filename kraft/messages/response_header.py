"""Generated from spec/ResponseHeader.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ResponseHeader"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ResponseHeader(Message):
    """ResponseHeader (header): versions 0-1, flexible from 1.

    Attributes:
        correlation_id: Number from the request that is answered.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    correlation_id: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("correlation_id", "int32"),)
