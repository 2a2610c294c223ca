"""Generated from spec/ShareGroupTargetAssignmentMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupTargetAssignmentMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupTargetAssignmentMetadataKey(Message):
    """ShareGroupTargetAssignmentMetadataKey (data): versions 12.

    Attributes:
        group_id (12+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (12, 12)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(12, OPEN)),)
