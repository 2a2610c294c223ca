"""Generated from spec/BrokerRegistrationRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["BrokerRegistrationRequest", "Feature", "Listener"]


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


class BrokerRegistrationRequest(Message):
    """BrokerRegistrationRequest (request of API 62): versions 0-4, flexible from 0.

    v1 ZooKeeper migration, v2 log directories, v3 the epoch before a clean shutdown. v4 may register features whose
    lowest level is 0.

    Attributes:
        broker_id: Id of the broker.
        cluster_id: Id of the cluster the broker was formatted for.
        incarnation_id: Fresh id of this run of the process.
        listeners: Where the sender listens, one entry per listener.
        features: Features the node can run and in which versions.
        rack: Rack of the broker, or null.
        is_migrating_zk_broker (1+): Whether the broker still runs on ZooKeeper and will migrate.
        log_dirs (2+): Ids of the log directories that are online.
        previous_broker_epoch (3+): Epoch before the last clean shutdown, or -1.
    """

    API_KEY: ClassVar[int] = 62
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("cluster_id", "string"),
        Field("incarnation_id", "uuid"),
        Field("listeners", "[]struct", Listener),
        Field("features", "[]struct", Feature),
        Field("rack", "string", nullable=(0, OPEN)),
        Field("is_migrating_zk_broker", "bool", versions=(1, OPEN)),
        Field("log_dirs", "[]uuid", versions=(2, OPEN), ignorable=True),
        Field("previous_broker_epoch", "int64", versions=(3, OPEN), default=-1, ignorable=True),
    )

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: UUID = ZERO_UUID,
        listeners: list[Listener] = NEW,
        features: list[Feature] = NEW,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[UUID] = NEW,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is NEW else listeners
        self.features = [] if features is NEW else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
