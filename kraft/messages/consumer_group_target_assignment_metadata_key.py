"""Generated from spec/ConsumerGroupTargetAssignmentMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupTargetAssignmentMetadataKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """ConsumerGroupTargetAssignmentMetadataKey (data): versions 6.

    Attributes:
        group_id (6+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (6, 6)

    group_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(6, OPEN)),)
