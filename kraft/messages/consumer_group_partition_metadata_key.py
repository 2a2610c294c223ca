"""Generated from spec/ConsumerGroupPartitionMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupPartitionMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupPartitionMetadataKey(Message):
    """ConsumerGroupPartitionMetadataKey (data): versions 4.

    Attributes:
        group_id (4+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (4, 4)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(4, OPEN)),)
