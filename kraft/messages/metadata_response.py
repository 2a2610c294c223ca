"""Generated from spec/MetadataResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["MetadataResponse", "MetadataResponseBroker", "MetadataResponsePartition", "MetadataResponseTopic"]


class MetadataResponseBroker(Message):
    """The live brokers. (0+)

    Attributes:
        node_id: Id of the broker.
        host: Host name or address to connect to.
        port: Port to connect to.
        rack (1+): Rack of the broker, or null.
    """

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
        Field("rack", "string", versions=(1, OPEN), nullable=(1, OPEN), default=None, ignorable=True),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class MetadataResponsePartition(Message):
    """The partitions of this topic. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        partition_index: Number of the partition in its topic.
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch (7+): Epoch of the partition's leadership.
        replica_nodes: Brokers that hold a replica, preferred leader first.
        isr_nodes: Replicas in sync with the leader.
        offline_replicas (5+): Replicas that are not available.
    """

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_index", "int32"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32", versions=(7, OPEN), default=-1, ignorable=True),
        Field("replica_nodes", "[]int32"),
        Field("isr_nodes", "[]int32"),
        Field("offline_replicas", "[]int32", versions=(5, OPEN), ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = NEW,
        isr_nodes: list[int] = NEW,
        offline_replicas: list[int] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NEW else replica_nodes
        self.isr_nodes = [] if isr_nodes is NEW else isr_nodes
        self.offline_replicas = [] if offline_replicas is NEW else offline_replicas


class MetadataResponseTopic(Message):
    """One entry per topic. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        name: Name of the topic; null when an unknown id was asked for.
        topic_id (10+): Id of the topic; zero when an unknown name was asked for.
        is_internal (1+): Whether Kafka itself owns the topic.
        partitions: The partitions of this topic.
        topic_authorized_operations (8+): Bit set of what the caller may do; the smallest int32 when not asked for.
    """

    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("name", "string", nullable=(12, OPEN)),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("is_internal", "bool", versions=(1, OPEN), ignorable=True),
        Field("partitions", "[]struct", MetadataResponsePartition),
        Field("topic_authorized_operations", "int32", versions=(8, OPEN), default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = NEW,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NEW else partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Message):
    """MetadataResponse (response of API 3): versions 0-13, flexible from 9.

    v13 adds the top-level error, for a client that must bootstrap again.

    Attributes:
        throttle_time_ms (3+): How long a quota held this request back, in milliseconds; 0 for not at all.
        brokers: The live brokers.
        cluster_id (2+): Id of the cluster.
        controller_id (1+): Id of the broker to send administrative requests to, or -1.
        topics: One entry per topic.
        cluster_authorized_operations (8-10): Bit set of what the caller may do; the smallest int32 when not asked for.
        error_code (13+): The outcome as a Kafka error code; 0 is success.
    """

    API_KEY: ClassVar[int] = 3
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(3, OPEN), ignorable=True),
        Field("brokers", "[]struct", MetadataResponseBroker),
        Field("cluster_id", "string", versions=(2, OPEN), nullable=(2, OPEN), default=None, ignorable=True),
        Field("controller_id", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", MetadataResponseTopic),
        Field("cluster_authorized_operations", "int32", versions=(8, 10), default=-2147483648),
        Field("error_code", "int16", versions=(13, OPEN), ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = NEW,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = NEW,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is NEW else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is NEW else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
