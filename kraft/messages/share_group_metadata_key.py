"""Generated from spec/ShareGroupMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupMetadataKey(Message):
    """ShareGroupMetadataKey (data): versions 11.

    Attributes:
        group_id (11+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (11, 11)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(11, OPEN)),)
