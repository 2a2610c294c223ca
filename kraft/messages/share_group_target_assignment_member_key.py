"""Generated from spec/ShareGroupTargetAssignmentMemberKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupTargetAssignmentMemberKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupTargetAssignmentMemberKey(Message):
    """ShareGroupTargetAssignmentMemberKey (data): versions 13.

    Attributes:
        group_id (13+): Group id.
        member_id (13+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (13, 13)

    group_id: str = ""
    member_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(13, OPEN)),
        Field("member_id", "string", versions=(13, OPEN)),
    )
