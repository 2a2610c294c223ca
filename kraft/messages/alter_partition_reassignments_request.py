"""Generated from spec/AlterPartitionReassignmentsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AlterPartitionReassignmentsRequest", "ReassignablePartition", "ReassignableTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReassignablePartition(Message):
    """Partitions with a reassignment to start or cancel. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        replicas: Brokers that shall hold the partition, or null to cancel a running reassignment.
    """

    partition_index: int = 0
    replicas: list[int] | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("replicas", "[]int32", nullable=(0, OPEN), default=None),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReassignableTopic(Message):
    """Topics with a reassignment to start or cancel. (0+)

    Attributes:
        name: Name of the topic.
        partitions: Partitions with a reassignment to start or cancel.
    """

    name: str = ""
    partitions: list[ReassignablePartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", ReassignablePartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[ReassignableTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("timeout_ms", "int32", default=60000),
        Field("allow_replication_factor_change", "bool", versions=(1, OPEN), default=True),
        Field("topics", "[]struct", ReassignableTopic),
    )
