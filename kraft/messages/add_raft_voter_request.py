"""Generated from spec/AddRaftVoterRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AddRaftVoterRequest", "Listener"]


class Listener(Message):
    """Where the new voter listens, one entry per listener. (0+)

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: Port to connect to.
    """

    __slots__ = ("name", "host", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("host", "string"),
        Field("port", "uint16"),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class AddRaftVoterRequest(Message):
    """AddRaftVoterRequest (request of API 80): versions 0-1, flexible from 0.

    v1 lets the caller choose when to be answered.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        timeout_ms: How long the server may wait for completion, in milliseconds.
        voter_id: Node id of the voter to add.
        voter_directory_id: Directory id of the voter to add.
        listeners: Where the new voter listens, one entry per listener.
        ack_when_committed (1+): Answer once the new voters are committed (true) or only written (false).
    """

    API_KEY: ClassVar[int] = 80
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN)),
        Field("timeout_ms", "int32"),
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid"),
        Field("listeners", "[]struct", Listener),
        Field("ack_when_committed", "bool", versions=(1, OPEN), default=True),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
        listeners: list[Listener] = NEW,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NEW else listeners
        self.ack_when_committed = ack_when_committed
