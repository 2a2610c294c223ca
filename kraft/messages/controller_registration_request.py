"""Generated from spec/ControllerRegistrationRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ControllerRegistrationRequest", "Feature", "Listener"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Listener(Message):
    """Where the sender listens, one entry per listener. (0+)

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: Port to connect to.
        security_protocol: Security protocol of the listener, as a code.
    """

    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("host", "string"),
        Field("port", "uint16"),
        Field("security_protocol", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Feature(Message):
    """Features the node can run and in which versions. (0+)

    Attributes:
        name: Name of the feature.
        min_supported_version: Lowest level the node supports.
        max_supported_version: Highest level the node supports.
    """

    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("min_supported_version", "int16"),
        Field("max_supported_version", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ControllerRegistrationRequest(Message):
    """ControllerRegistrationRequest (request of API 70): versions 0, flexible from 0.

    Attributes:
        controller_id: Node id of the controller.
        incarnation_id: Fresh id of this run of the process.
        zk_migration_ready: Whether the node is ready for a ZooKeeper migration.
        listeners: Where the sender listens, one entry per listener.
        features: Features the node can run and in which versions.
    """

    API_KEY: ClassVar[int] = 70
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    controller_id: int = 0
    incarnation_id: UUID = ZERO_UUID
    zk_migration_ready: bool = False
    listeners: list[Listener] = attrs.Factory(list)
    features: list[Feature] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("controller_id", "int32"),
        Field("incarnation_id", "uuid"),
        Field("zk_migration_ready", "bool"),
        Field("listeners", "[]struct", Listener),
        Field("features", "[]struct", Feature),
    )
