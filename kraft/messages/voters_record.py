"""Generated from spec/VotersRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["Endpoint", "KRaftVersionFeature", "Voter", "VotersRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Endpoint(Message):
    """Where the node listens, one entry per listener. (0+)

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: Port to connect to.
    """

    name: str = ""
    host: str = ""
    port: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("host", "string"),
        Field("port", "uint16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class KRaftVersionFeature(Message):
    """Range of kraft.version the voter supports. (0+)

    Attributes:
        min_supported_version: Lowest level the node supports.
        max_supported_version: Highest level the node supports.
    """

    min_supported_version: int = 0
    max_supported_version: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("min_supported_version", "int16"),
        Field("max_supported_version", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Voter(Message):
    """The members of the quorum. (0+)

    Attributes:
        voter_id: Node id of the voter.
        voter_directory_id: Directory id of the voter; all zero when unknown.
        endpoints: Where the node listens, one entry per listener.
        kraft_version_feature: Range of kraft.version the voter supports.
    """

    voter_id: int = 0
    voter_directory_id: UUID = ZERO_UUID
    endpoints: list[Endpoint] = attrs.Factory(list)
    kraft_version_feature: KRaftVersionFeature = attrs.Factory(KRaftVersionFeature)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid"),
        Field("endpoints", "[]struct", Endpoint),
        Field("kraft_version_feature", "struct", KRaftVersionFeature, json_name="kRaftVersionFeature"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class VotersRecord(Message):
    """VotersRecord (data): versions 0, flexible from 0.

    Attributes:
        version: Version of this record's layout.
        voters: The members of the quorum.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    version: int = 0
    voters: list[Voter] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("voters", "[]struct", Voter),
    )
