"""Generated from spec/LeaveGroupRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["LeaveGroupRequest", "MemberIdentity"]


class MemberIdentity(Message):
    """Members that leave. (3+)

    Attributes:
        member_id (3+): Member id, empty if named by GroupInstanceId alone.
        group_instance_id (3+): Static member's own name, or null.
        reason (5+): Why the member leaves, for the log.
    """

    __slots__ = ("member_id", "group_instance_id", "reason")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string", versions=(3, OPEN)),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None),
        Field("reason", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


class LeaveGroupRequest(Message):
    """LeaveGroupRequest (request of API 13): versions 0-5, flexible from 4.

    v3 removes several members at once, static ones too (KIP-345), v5 adds the reason.

    Attributes:
        group_id: Group to leave.
        member_id (0-2): Member that leaves.
        members (3+): Members that leave.
    """

    API_KEY: ClassVar[int] = 13
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("group_id", "member_id", "members")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("member_id", "string", versions=(0, 2)),
        Field("members", "[]struct", MemberIdentity, versions=(3, OPEN)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is NEW else members
