"""Generated from spec/MetadataResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["MetadataResponse", "MetadataResponseBroker", "MetadataResponsePartition", "MetadataResponseTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class MetadataResponseBroker(Message):
    """The live brokers. (0+)

    Attributes:
        node_id: Id of the broker.
        host: Host name or address to connect to.
        port: Port to connect to.
        rack (1+): Rack of the broker, or null.
    """

    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32"),
        Field("host", "string"),
        Field("port", "int32"),
        Field("rack", "string", versions=(1, OPEN), nullable=(1, OPEN), default=None, ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = attrs.Factory(list)
    isr_nodes: list[int] = attrs.Factory(list)
    offline_replicas: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_index", "int32"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32", versions=(7, OPEN), default=-1, ignorable=True),
        Field("replica_nodes", "[]int32"),
        Field("isr_nodes", "[]int32"),
        Field("offline_replicas", "[]int32", versions=(5, OPEN), ignorable=True),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    error_code: int = 0
    name: str | None = ""
    topic_id: UUID = ZERO_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = attrs.Factory(list)
    topic_authorized_operations: int = -2147483648

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("name", "string", nullable=(12, OPEN)),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("is_internal", "bool", versions=(1, OPEN), ignorable=True),
        Field("partitions", "[]struct", MetadataResponsePartition),
        Field("topic_authorized_operations", "int32", versions=(8, OPEN), default=-2147483648),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = attrs.Factory(list)
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = attrs.Factory(list)
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(3, OPEN), ignorable=True),
        Field("brokers", "[]struct", MetadataResponseBroker),
        Field("cluster_id", "string", versions=(2, OPEN), nullable=(2, OPEN), default=None, ignorable=True),
        Field("controller_id", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", MetadataResponseTopic),
        Field("cluster_authorized_operations", "int32", versions=(8, 10), default=-2147483648),
        Field("error_code", "int16", versions=(13, OPEN), ignorable=True),
    )
