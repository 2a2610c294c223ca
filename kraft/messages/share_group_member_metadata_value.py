"""Generated from spec/ShareGroupMemberMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupMemberMetadataValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("rack_id", "string", nullable=(0, OPEN)),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("subscribed_topic_names", "[]string"),
    )
