"""Generated from spec/ShareGroupMemberMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ShareGroupMemberMetadataValue"]


class ShareGroupMemberMetadataValue(Message):
    """ShareGroupMemberMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        rack_id: Rack of the client, or null.
        client_id: Client id.
        client_host: Address of the client.
        subscribed_topic_names: Topics to which the member subscribes.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("rack_id", "string", nullable=(0, OPEN)),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("subscribed_topic_names", "[]string"),
    )

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names
