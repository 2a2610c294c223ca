"""Generated from spec/SnapshotHeaderRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["SnapshotHeaderRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SnapshotHeaderRecord(Message):
    """SnapshotHeaderRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
        last_contained_log_timestamp: Append time of the last record in the snapshot, in milliseconds since the epoch.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    version: int = 0
    last_contained_log_timestamp: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("last_contained_log_timestamp", "int64"),
    )
