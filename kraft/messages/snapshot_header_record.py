"""Generated from spec/SnapshotHeaderRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["SnapshotHeaderRecord"]


class SnapshotHeaderRecord(Message):
    """SnapshotHeaderRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
        last_contained_log_timestamp: Append time of the last record in the snapshot, in milliseconds since the epoch.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "last_contained_log_timestamp")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("last_contained_log_timestamp", "int64"),
    )

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
