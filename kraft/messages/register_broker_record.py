"""Generated from spec/RegisterBrokerRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["BrokerEndpoint", "BrokerFeature", "RegisterBrokerRecord"]


class BrokerEndpoint(Message):
    """Where the node listens, one entry per listener. (0+)

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


class BrokerFeature(Message):
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


class RegisterBrokerRecord(Message):
    """RegisterBrokerRecord (metadata record, type 0): versions 0-4, flexible from 0.

    v1 controlled shutdown, v2 ZooKeeper migration, v3 log directories, v4 cordoned ones (KIP-1066).

    Attributes:
        broker_id: Id of the broker.
        is_migrating_zk_broker (2+): Whether the broker still runs on ZooKeeper and will migrate.
        incarnation_id: Fresh id of this run of the process.
        broker_epoch: Epoch given to the broker.
        end_points: Where the node listens, one entry per listener.
        features: Features the node can run and in which versions.
        rack: Rack of the broker, or null.
        fenced: Whether the broker starts out fenced.
        in_controlled_shutdown (1+): Whether the broker is shutting down in order.
        log_dirs (3+): Ids of the log directories that are online.
        cordoned_log_dirs (4+): Ids of the log directories that take no new replicas; null until a heartbeat names them.
    """

    API_KEY: ClassVar[int] = 0
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("is_migrating_zk_broker", "bool", versions=(2, OPEN)),
        Field("incarnation_id", "uuid"),
        Field("broker_epoch", "int64"),
        Field("end_points", "[]struct", BrokerEndpoint),
        Field("features", "[]struct", BrokerFeature),
        Field("rack", "string", nullable=(0, OPEN)),
        Field("fenced", "bool", default=True),
        Field("in_controlled_shutdown", "bool", versions=(1, OPEN)),
        Field("log_dirs", "[]uuid", versions=(3, OPEN), tag=0, tagged=(3, OPEN)),
        Field(
            "cordoned_log_dirs", "[]uuid", versions=(4, OPEN), nullable=(4, OPEN), tag=1, tagged=(4, OPEN), default=None
        ),
    )

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: UUID = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = NEW,
        features: list[BrokerFeature] = NEW,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[UUID] = NEW,
        cordoned_log_dirs: list[UUID] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is NEW else end_points
        self.features = [] if features is NEW else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
