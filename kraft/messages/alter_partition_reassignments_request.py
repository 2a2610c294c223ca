"""Generated from spec/AlterPartitionReassignmentsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterPartitionReassignmentsRequest", "ReassignablePartition", "ReassignableTopic"]


class ReassignablePartition(Message):
    """Partitions with a reassignment to start or cancel. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        replicas: Brokers that shall hold the partition, or null to cancel a running reassignment.
    """

    __slots__ = ("partition_index", "replicas")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("replicas", "[]int32", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Message):
    """Topics with a reassignment to start or cancel. (0+)

    Attributes:
        name: Name of the topic.
        partitions: Partitions with a reassignment to start or cancel.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", ReassignablePartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class AlterPartitionReassignmentsRequest(Message):
    """AlterPartitionReassignmentsRequest (request of API 45): versions 0-1, flexible from 0.

    v1 may forbid a change of the replication factor.

    Attributes:
        timeout_ms: How long the server may wait for completion, in milliseconds.
        allow_replication_factor_change (1+): Whether a reassignment may change the number of replicas.
        topics: Topics with a reassignment to start or cancel.
    """

    API_KEY: ClassVar[int] = 45
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("timeout_ms", "int32", default=60000),
        Field("allow_replication_factor_change", "bool", versions=(1, OPEN), default=True),
        Field("topics", "[]struct", ReassignableTopic),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = NEW,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is NEW else topics
