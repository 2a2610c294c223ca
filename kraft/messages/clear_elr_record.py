"""Generated from spec/ClearElrRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["ClearElrRecord"]


class ClearElrRecord(Message):
    """ClearElrRecord (metadata record, type 28): versions 0, flexible from 0.

    Of metadata.version 4.0-IV1 and later (KIP-966): min.insync.replicas has changed.

    Attributes:
        topic_name: Topic whose partitions lose their eligible leader replicas; empty for all topics.
    """

    API_KEY: ClassVar[int] = 28
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_name",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_name", "string"),)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name
