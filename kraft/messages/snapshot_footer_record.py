"""Generated from spec/SnapshotFooterRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["SnapshotFooterRecord"]


class SnapshotFooterRecord(Message):
    """SnapshotFooterRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("version", "int16"),)

    def __init__(
        self,
        version: int = 0,
    ) -> None:
        self.version = version
