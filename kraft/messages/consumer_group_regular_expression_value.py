"""Generated from spec/ConsumerGroupRegularExpressionValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["ConsumerGroupRegularExpressionValue"]


class ConsumerGroupRegularExpressionValue(Message):
    """ConsumerGroupRegularExpressionValue (data): versions 0, flexible from 0.

    Attributes:
        topics: Topics that match.
        version: Version of the metadata that was searched.
        timestamp: When it was searched, in milliseconds.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics", "version", "timestamp")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]string"),
        Field("version", "int64"),
        Field("timestamp", "int64"),
    )

    def __init__(
        self,
        topics: list[str] = NEW,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.version = version
        self.timestamp = timestamp
