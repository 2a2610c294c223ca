"""Generated from spec/ConsumerGroupTargetAssignmentMemberKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupTargetAssignmentMemberKey"]


class ConsumerGroupTargetAssignmentMemberKey(Message):
    """ConsumerGroupTargetAssignmentMemberKey (data): versions 7.

    Attributes:
        group_id (7+): Group id.
        member_id (7+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (7, 7)

    __slots__ = ("group_id", "member_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(7, OPEN)),
        Field("member_id", "string", versions=(7, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
