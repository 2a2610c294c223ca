"""Generated from spec/ShareGroupMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ShareGroupMetadataValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupMetadataValue(Message):
    """ShareGroupMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        epoch: Group epoch.
        metadata_hash: Hash of the subscribed topics.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    epoch: int = 0
    metadata_hash: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32"),
        Field("metadata_hash", "int64"),
    )
