"""Generated from spec/ShareGroupCurrentMemberAssignmentKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupCurrentMemberAssignmentKey"]


class ShareGroupCurrentMemberAssignmentKey(Message):
    """ShareGroupCurrentMemberAssignmentKey (data): versions 14.

    Attributes:
        group_id (14+): Group id.
        member_id (14+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (14, 14)

    __slots__ = ("group_id", "member_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(14, OPEN)),
        Field("member_id", "string", versions=(14, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
