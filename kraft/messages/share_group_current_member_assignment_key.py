"""Generated from spec/ShareGroupCurrentMemberAssignmentKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupCurrentMemberAssignmentKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupCurrentMemberAssignmentKey(Message):
    """ShareGroupCurrentMemberAssignmentKey (data): versions 14.

    Attributes:
        group_id (14+): Group id.
        member_id (14+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (14, 14)

    group_id: str = ""
    member_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(14, OPEN)),
        Field("member_id", "string", versions=(14, OPEN)),
    )
