"""Generated from spec/AlterReplicaLogDirsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["AlterReplicaLogDirPartitionResult", "AlterReplicaLogDirTopicResult", "AlterReplicaLogDirsResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDirPartitionResult(Message):
    """One outcome per partition. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDirTopicResult(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: One outcome per partition.
    """

    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", AlterReplicaLogDirPartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterReplicaLogDirsResponse(Message):
    """AlterReplicaLogDirsResponse (response of API 34): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One entry per topic.
    """

    API_KEY: ClassVar[int] = 34
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", AlterReplicaLogDirTopicResult),
    )
