"""Generated from spec/ShareGroupHeartbeatRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupHeartbeatRequest"]


class ShareGroupHeartbeatRequest(Message):
    """ShareGroupHeartbeatRequest (request of API 76): versions 1, flexible from 0.

    Kafka 4.0 had version 0 as a preview. 1 is the first stable version (KIP-932).

    Attributes:
        group_id: Group id.
        member_id: Member id, which the client chooses.
        member_epoch: Last known member epoch. 0 joins, -1 leaves.
        rack_id: Rack of the client, null if unchanged.
        subscribed_topic_names: Topics to which the member subscribes, null if unchanged.
    """

    API_KEY: ClassVar[int] = 76
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("member_id", "string"),
        Field("member_epoch", "int32"),
        Field("rack_id", "string", nullable=(0, OPEN), default=None),
        Field("subscribed_topic_names", "[]string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
