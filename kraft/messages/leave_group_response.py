"""Generated from spec/LeaveGroupResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["LeaveGroupResponse", "MemberResponse"]


class MemberResponse(Message):
    """Outcome per member. (3+)

    Attributes:
        member_id (3+): Member id.
        group_instance_id (3+): Static member's own name, or null.
        error_code (3+): Error of this member.
    """

    __slots__ = ("member_id", "group_instance_id", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string", versions=(3, OPEN)),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN)),
        Field("error_code", "int16", versions=(3, OPEN)),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


class LeaveGroupResponse(Message):
    """LeaveGroupResponse (response of API 13): versions 0-5, flexible from 4.

    v3 answers per member.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        members (3+): Outcome per member.
    """

    API_KEY: ClassVar[int] = 13
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "members")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("members", "[]struct", MemberResponse, versions=(3, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is NEW else members
