"""Generated from spec/ConsumerGroupMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupMetadataKey(Message):
    """ConsumerGroupMetadataKey (data): versions 3.

    The versions of all keys in the offsets topic share one number line (KIP-848): 3 to 8 and 16 are consumer groups.

    Attributes:
        group_id (3+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (3, 3)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(3, OPEN)),)
