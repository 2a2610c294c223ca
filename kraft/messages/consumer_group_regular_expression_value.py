"""Generated from spec/ConsumerGroupRegularExpressionValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ConsumerGroupRegularExpressionValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupRegularExpressionValue(Message):
    """ConsumerGroupRegularExpressionValue (data): versions 0, flexible from 0.

    Attributes:
        topics: Topics that match.
        version: Version of the metadata that was searched.
        timestamp: When it was searched, in milliseconds.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topics: list[str] = attrs.Factory(list)
    version: int = 0
    timestamp: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]string"),
        Field("version", "int64"),
        Field("timestamp", "int64"),
    )
