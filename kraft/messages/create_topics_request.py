"""Generated from spec/CreateTopicsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["CreatableReplicaAssignment", "CreatableTopic", "CreatableTopicConfig", "CreateTopicsRequest"]


class CreatableReplicaAssignment(Message):
    """Placement of every partition; empty to let the server choose. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        broker_ids: Brokers that hold the partition, preferred leader first.
    """

    __slots__ = ("partition_index", "broker_ids")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("broker_ids", "[]int32"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is NEW else broker_ids


class CreatableTopicConfig(Message):
    """Settings that differ from the defaults. (0+)

    Attributes:
        name: Name of the setting.
        value: Value of the setting, or null.
    """

    __slots__ = ("name", "value")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("value", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Message):
    """One entry per topic wanted. (0+)

    Attributes:
        name: Name of the new topic.
        num_partitions: Number of partitions; -1 for the server's default or with assignments.
        replication_factor: Replicas per partition; -1 for the server's default or with assignments.
        assignments: Placement of every partition; empty to let the server choose.
        configs: Settings that differ from the defaults.
    """

    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("num_partitions", "int32"),
        Field("replication_factor", "int16"),
        Field("assignments", "[]struct", CreatableReplicaAssignment),
        Field("configs", "[]struct", CreatableTopicConfig),
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = NEW,
        configs: list[CreatableTopicConfig] = NEW,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is NEW else assignments
        self.configs = [] if configs is NEW else configs


class CreateTopicsRequest(Message):
    """CreateTopicsRequest (request of API 19): versions 0-7, flexible from 5.

    v4 allows -1 for partitions and replicas. v5 returns the settings, v7 the topic id.

    Attributes:
        topics: One entry per topic wanted.
        timeout_ms: How long the server may wait for completion, in milliseconds.
        validate_only (1+): Check the request but create nothing.
    """

    API_KEY: ClassVar[int] = 19
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("topics", "timeout_ms", "validate_only")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", CreatableTopic),
        Field("timeout_ms", "int32", default=60000),
        Field("validate_only", "bool", versions=(1, OPEN)),
    )

    def __init__(
        self,
        topics: list[CreatableTopic] = NEW,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
