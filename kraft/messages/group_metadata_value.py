"""Generated from spec/GroupMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["GroupMetadataValue", "MemberMetadata"]


class MemberMetadata(Message):
    """Members. (0+)

    Attributes:
        member_id: Member id.
        group_instance_id (3+): Static member's own name, or null.
        client_id: Client id.
        client_host: Address it joined from.
        rebalance_timeout (1+): Rebalance timeout in milliseconds, -1 means the session timeout.
        session_timeout: Session timeout in milliseconds.
        subscription: What it said under the chosen protocol.
        assignment: Its share.
    """

    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None, ignorable=True),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("rebalance_timeout", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("session_timeout", "int32"),
        Field("subscription", "bytes"),
        Field("assignment", "bytes"),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadataValue(Message):
    """GroupMetadataValue (data): versions 0-4, flexible from 4.

    v1 adds the rebalance timeout, v2 the time of the last state change, v3 static members, v4 is flexible.

    Attributes:
        protocol_type: Family of protocols, empty if there is none.
        generation: Generation.
        protocol: Protocol chosen, null in an empty group.
        leader: Leader's member id, null in an empty group.
        current_state_timestamp (2+): When the group entered its state, in milliseconds; -1 if unknown.
        members: Members.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("protocol_type", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=(0, OPEN)),
        Field("leader", "string", nullable=(0, OPEN)),
        Field("current_state_timestamp", "int64", versions=(2, OPEN), default=-1, ignorable=True),
        Field("members", "[]struct", MemberMetadata),
    )

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = NEW,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is NEW else members
