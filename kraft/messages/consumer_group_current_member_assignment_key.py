"""Generated from spec/ConsumerGroupCurrentMemberAssignmentKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupCurrentMemberAssignmentKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """ConsumerGroupCurrentMemberAssignmentKey (data): versions 8.

    Attributes:
        group_id (8+): Group id.
        member_id (8+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (8, 8)

    group_id: str = ""
    member_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(8, OPEN)),
        Field("member_id", "string", versions=(8, OPEN)),
    )
