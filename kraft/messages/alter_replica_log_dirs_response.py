"""Generated from spec/AlterReplicaLogDirsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["AlterReplicaLogDirPartitionResult", "AlterReplicaLogDirTopicResult", "AlterReplicaLogDirsResponse"]


class AlterReplicaLogDirPartitionResult(Message):
    """One outcome per partition. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    __slots__ = ("partition_index", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AlterReplicaLogDirTopicResult(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: One outcome per partition.
    """

    __slots__ = ("topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", AlterReplicaLogDirPartitionResult),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class AlterReplicaLogDirsResponse(Message):
    """AlterReplicaLogDirsResponse (response of API 34): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One entry per topic.
    """

    API_KEY: ClassVar[int] = 34
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", AlterReplicaLogDirTopicResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results
