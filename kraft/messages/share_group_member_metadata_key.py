"""Generated from spec/ShareGroupMemberMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupMemberMetadataKey"]


class ShareGroupMemberMetadataKey(Message):
    """ShareGroupMemberMetadataKey (data): versions 10.

    The versions of all keys in the offsets topic share one number line: 10 to 15 are share groups (KIP-932).

    Attributes:
        group_id (10+): Group id.
        member_id (10+): Member id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (10, 10)

    __slots__ = ("group_id", "member_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(10, OPEN)),
        Field("member_id", "string", versions=(10, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
