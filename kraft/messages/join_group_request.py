"""Generated from spec/JoinGroupRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["JoinGroupRequest", "JoinGroupRequestProtocol"]


class JoinGroupRequestProtocol(Message):
    """Protocols this member can run, best first. (0+)

    Attributes:
        name: Protocol name, for consumers the assignor's.
        metadata: What the member tells the leader under this protocol.
    """

    __slots__ = ("name", "metadata")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("metadata", "bytes"),
    )

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class JoinGroupRequest(Message):
    """JoinGroupRequest (request of API 11): versions 0-9, flexible from 6.

    v1 separates the rebalance timeout, v4 makes a new member join twice (KIP-394), v5 adds static members (KIP-345), v8
    the reason (KIP-800), v9 lets the leader skip the assignment (KIP-814).

    Attributes:
        group_id: Group to join.
        session_timeout_ms: Silence after which the member counts as gone, in milliseconds.
        rebalance_timeout_ms (1+): How long the others wait for this member to rejoin, in milliseconds; -1 means the
            session timeout.
        member_id: Id given by the coordinator, empty at first.
        group_instance_id (5+): Static member's own name, null for a dynamic member.
        protocol_type: Family of protocols, "consumer" for consumers.
        protocols: Protocols this member can run, best first.
        reason (8+): Why the member joins, for the log.
    """

    API_KEY: ClassVar[int] = 11
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("session_timeout_ms", "int32"),
        Field("rebalance_timeout_ms", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("member_id", "string"),
        Field("group_instance_id", "string", versions=(5, OPEN), nullable=(5, OPEN), default=None),
        Field("protocol_type", "string"),
        Field("protocols", "[]struct", JoinGroupRequestProtocol),
        Field("reason", "string", versions=(8, OPEN), nullable=(8, OPEN), default=None, ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = NEW,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is NEW else protocols
        self.reason = reason
