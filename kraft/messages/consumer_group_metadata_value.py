"""Generated from spec/ConsumerGroupMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupMetadataValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupMetadataValue(Message):
    """ConsumerGroupMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        epoch: Group epoch.
        metadata_hash: Hash of the metadata of all subscribed topics, 0 if it was never computed.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    epoch: int = 0
    metadata_hash: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("epoch", "int32"),
        Field("metadata_hash", "int64", tag=0, tagged=(0, OPEN)),
    )
