"""Generated from spec/ControllerRegistrationRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ControllerRegistrationRequest", "Feature", "Listener"]


class Listener(Message):
    """Where the sender listens, one entry per listener. (0+)

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: Port to connect to.
        security_protocol: Security protocol of the listener, as a code.
    """

    __slots__ = ("name", "host", "port", "security_protocol")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("host", "string"),
        Field("port", "uint16"),
        Field("security_protocol", "int16"),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


class Feature(Message):
    """Features the node can run and in which versions. (0+)

    Attributes:
        name: Name of the feature.
        min_supported_version: Lowest level the node supports.
        max_supported_version: Highest level the node supports.
    """

    __slots__ = ("name", "min_supported_version", "max_supported_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("min_supported_version", "int16"),
        Field("max_supported_version", "int16"),
    )

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


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

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("controller_id", "int32"),
        Field("incarnation_id", "uuid"),
        Field("zk_migration_ready", "bool"),
        Field("listeners", "[]struct", Listener),
        Field("features", "[]struct", Feature),
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: UUID = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = NEW,
        features: list[Feature] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is NEW else listeners
        self.features = [] if features is NEW else features
