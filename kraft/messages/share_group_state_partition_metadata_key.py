"""Generated from spec/ShareGroupStatePartitionMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupStatePartitionMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupStatePartitionMetadataKey(Message):
    """ShareGroupStatePartitionMetadataKey (data): versions 15.

    Attributes:
        group_id (15+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (15, 15)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(15, OPEN)),)
