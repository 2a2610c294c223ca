"""Generated from spec/VotersRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["Endpoint", "KRaftVersionFeature", "Voter", "VotersRecord"]


class Endpoint(Message):
    """Where the node listens, one entry per listener. (0+)

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


class Voter(Message):
    """The members of the quorum. (0+)

    Attributes:
        voter_id: Node id of the voter.
        voter_directory_id: Directory id of the voter; all zero when unknown.
        endpoints: Where the node listens, one entry per listener.
        kraft_version_feature: Range of kraft.version the voter supports.
    """

    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid"),
        Field("endpoints", "[]struct", Endpoint),
        Field("kraft_version_feature", "struct", KRaftVersionFeature, json_name="kRaftVersionFeature"),
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
        endpoints: list[Endpoint] = NEW,
        kraft_version_feature: KRaftVersionFeature = NEW,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is NEW else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is NEW else kraft_version_feature


class VotersRecord(Message):
    """VotersRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
        voters: The members of the quorum.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "voters")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("voters", "[]struct", Voter),
    )

    def __init__(
        self,
        version: int = 0,
        voters: list[Voter] = NEW,
    ) -> None:
        self.version = version
        self.voters = [] if voters is NEW else voters
