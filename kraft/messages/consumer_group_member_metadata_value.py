"""Generated from spec/ConsumerGroupMemberMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ClassicMemberMetadata", "ClassicProtocol", "ConsumerGroupMemberMetadataValue"]


class ClassicProtocol(Message):
    """Protocols of its JoinGroup. (0+)

    Attributes:
        name: Protocol name.
        metadata: Metadata of the protocol.
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


class ClassicMemberMetadata(Message):
    """Null if the member uses the consumer protocol. (0+)

    Attributes:
        session_timeout_ms: Session timeout in milliseconds.
        supported_protocols: Protocols of its JoinGroup.
    """

    __slots__ = ("session_timeout_ms", "supported_protocols")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("session_timeout_ms", "int32"),
        Field("supported_protocols", "[]struct", ClassicProtocol),
    )

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = NEW,
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is NEW else supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    """ConsumerGroupMemberMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        instance_id: Static member's own name, or null.
        rack_id: Rack of the client, or null.
        client_id: Client id.
        client_host: Address of the client.
        subscribed_topic_names: Topics to which the member subscribes by name.
        subscribed_topic_regex: Regular expression to which the member subscribes, or null.
        rebalance_timeout_ms: Rebalance timeout in milliseconds.
        server_assignor: Assignor that the member prefers, or null.
        classic_member_metadata: Null if the member uses the consumer protocol.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("instance_id", "string", nullable=(0, OPEN)),
        Field("rack_id", "string", nullable=(0, OPEN)),
        Field("client_id", "string"),
        Field("client_host", "string"),
        Field("subscribed_topic_names", "[]string"),
        Field("subscribed_topic_regex", "string", nullable=(0, OPEN)),
        Field("rebalance_timeout_ms", "int32", default=-1),
        Field("server_assignor", "string", nullable=(0, OPEN)),
        Field("classic_member_metadata", "struct", ClassicMemberMetadata, nullable=(0, OPEN), tag=0, tagged=(0, OPEN)),
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = NEW,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = (
            ClassicMemberMetadata() if classic_member_metadata is NEW else classic_member_metadata
        )
