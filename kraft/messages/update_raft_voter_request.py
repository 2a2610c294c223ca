"""Generated from spec/UpdateRaftVoterRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["KRaftVersionFeature", "Listener", "UpdateRaftVoterRequest"]


class Listener(Message):
    """Where the sender listens, one entry per listener. (0+)

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


class KRaftVersionFeature(Message):
    """Range of kraft.version the voter supports. (0+)

    Attributes:
        min_supported_version: Lowest level the node supports.
        max_supported_version: Highest level the node supports.
    """

    __slots__ = ("min_supported_version", "max_supported_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("min_supported_version", "int16"),
        Field("max_supported_version", "int16"),
    )

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class UpdateRaftVoterRequest(Message):
    """UpdateRaftVoterRequest (request of API 82): versions 0, flexible from 0.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        current_leader_epoch: Newest epoch the voter knows.
        voter_id: Node id of the voter.
        voter_directory_id: Directory id of the voter; all zero when unknown.
        listeners: Where the sender listens, one entry per listener.
        kraft_version_feature: Range of kraft.version the voter supports.
    """

    API_KEY: ClassVar[int] = 82
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN)),
        Field("current_leader_epoch", "int32"),
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid"),
        Field("listeners", "[]struct", Listener),
        Field("kraft_version_feature", "struct", KRaftVersionFeature, json_name="kRaftVersionFeature"),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
        listeners: list[Listener] = NEW,
        kraft_version_feature: KRaftVersionFeature = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NEW else listeners
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is NEW else kraft_version_feature
