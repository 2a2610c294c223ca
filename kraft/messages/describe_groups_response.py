"""Generated from spec/DescribeGroupsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeGroupsResponse", "DescribedGroup", "DescribedGroupMember"]


class DescribedGroupMember(Message):
    """Members. (0+)

    Attributes:
        member_id: Member id.
        group_instance_id (4+): Static member's own name, or null.
        client_id: Client id of its last join.
        client_host: Address it joined from.
        member_metadata: What it said under the chosen protocol.
        member_assignment: Its share.
    """

    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(4, OPEN), nullable=(4, OPEN), default=None, ignorable=True),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("member_metadata", "bytes"),
        Field("member_assignment", "bytes"),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Message):
    """One entry per group. (0+)

    Attributes:
        error_code: Error of this group.
        error_message (6+): More about the error, or null.
        group_id: Group id.
        group_state: State name, such as Stable or Empty; empty on error.
        protocol_type: Family of protocols, empty if there is none.
        protocol_data: Protocol chosen, empty unless the group is stable.
        members: Members.
        authorized_operations (3+): Bit set of the operations the caller may do; the least int32 if not asked for.
    """

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", versions=(6, OPEN), nullable=(6, OPEN), default=None),
        Field("group_id", "string"),
        Field("group_state", "string"),
        Field("protocol_type", "string"),
        Field("protocol_data", "string"),
        Field("members", "[]struct", DescribedGroupMember),
        Field("authorized_operations", "int32", versions=(3, OPEN), default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = NEW,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is NEW else members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Message):
    """DescribeGroupsResponse (response of API 15): versions 0-6, flexible from 5.

    v3 adds the allowed operations, v4 static members, v6 an error message.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        groups: One entry per group.
    """

    API_KEY: ClassVar[int] = 15
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "groups")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("groups", "[]struct", DescribedGroup),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups
