"""Generated from spec/SyncGroupRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["SyncGroupRequest", "SyncGroupRequestAssignment"]


class SyncGroupRequestAssignment(Message):
    """Everyone's share, from the leader alone. (0+)

    Attributes:
        member_id: Member id.
        assignment: Share of that member.
    """

    __slots__ = ("member_id", "assignment")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("assignment", "bytes"),
    )

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


class SyncGroupRequest(Message):
    """SyncGroupRequest (request of API 14): versions 0-5, flexible from 4.

    v3 adds static members, v5 the protocol, so that a mismatch is noticed.

    Attributes:
        group_id: Group id.
        generation_id: Generation the member is in.
        member_id: Member id.
        group_instance_id (3+): Static member's own name, null for a dynamic member.
        protocol_type (5+): Family of protocols the member believes in.
        protocol_name (5+): Protocol the member believes was chosen.
        assignments: Everyone's share, from the leader alone.
    """

    API_KEY: ClassVar[int] = 14
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("generation_id", "int32"),
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None),
        Field("protocol_type", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
        Field("protocol_name", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
        Field("assignments", "[]struct", SyncGroupRequestAssignment),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = NEW,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is NEW else assignments
