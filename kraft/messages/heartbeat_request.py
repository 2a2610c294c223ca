"""Generated from spec/HeartbeatRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["HeartbeatRequest"]


class HeartbeatRequest(Message):
    """HeartbeatRequest (request of API 12): versions 0-4, flexible from 4.

    v3 adds static members.

    Attributes:
        group_id: Group id.
        generation_id: Generation the member is in.
        member_id: Member id.
        group_instance_id (3+): Static member's own name, null for a dynamic member.
    """

    API_KEY: ClassVar[int] = 12
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("generation_id", "int32"),
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
