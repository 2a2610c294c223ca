"""Generated from spec/DescribeClusterResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeClusterBroker", "DescribeClusterResponse"]


class DescribeClusterBroker(Message):
    """The nodes of the cluster. (0+)

    Attributes:
        broker_id: Id of the node.
        host: Host name or address to connect to.
        port: Port to connect to.
        rack: Rack of the broker, or null.
        is_fenced (2+): Whether the broker is fenced.
    """

    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
        Field("rack", "string", nullable=(0, OPEN), default=None),
        Field("is_fenced", "bool", versions=(2, OPEN)),
    )

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


class DescribeClusterResponse(Message):
    """DescribeClusterResponse (response of API 60): versions 0-2, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        endpoint_type (1+): What is described: 1 brokers, 2 controllers.
        cluster_id: Id of the cluster.
        controller_id: Id of the controller, or -1.
        brokers: The nodes of the cluster.
        cluster_authorized_operations: Bit set of what the caller may do; the smallest int32 when not asked for.
    """

    API_KEY: ClassVar[int] = 60
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("endpoint_type", "int8", versions=(1, OPEN), default=1),
        Field("cluster_id", "string"),
        Field("controller_id", "int32", default=-1),
        Field("brokers", "[]struct", DescribeClusterBroker),
        Field("cluster_authorized_operations", "int32", default=-2147483648),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = NEW,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is NEW else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
