"""Generated from spec/JoinGroupResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["JoinGroupResponse", "JoinGroupResponseMember"]


class JoinGroupResponseMember(Message):
    """All members, to the leader alone. (0+)

    Attributes:
        member_id: Member id.
        group_instance_id (5+): Static member's own name, or null.
        metadata: What the member said under the chosen protocol.
    """

    __slots__ = ("member_id", "group_instance_id", "metadata")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None, ignorable=True),
        Field("metadata", "bytes"),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class JoinGroupResponse(Message):
    """JoinGroupResponse (response of API 11): versions 0-9, flexible from 6.

    v7 adds the protocol type and a nullable protocol name, v9 the skip-assignment flag.

    Attributes:
        throttle_time_ms (2+): Time the client was held back by a quota, in milliseconds.
        error_code: Error, 0 if the member is in.
        generation_id: Generation just formed.
        protocol_type (7+): Family of protocols of the group.
        protocol_name: Protocol chosen, supported by all.
        leader: Member id of the leader.
        skip_assignment (9+): True if the leader must not compute an assignment.
        member_id: Id of the member that asked.
        members: All members, to the leader alone.
    """

    API_KEY: ClassVar[int] = 11
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("error_code", "int16"),
        Field("generation_id", "int32", default=-1),
        Field("protocol_type", "string", versions=(7, OPEN), nullable=(7, OPEN), default=None, ignorable=True),
        Field("protocol_name", "string", nullable=(7, OPEN)),
        Field("leader", "string"),
        Field("skip_assignment", "bool", versions=(9, OPEN)),
        Field("member_id", "string"),
        Field("members", "[]struct", JoinGroupResponseMember),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is NEW else members
