"""Generated from spec/StopReplicaResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["StopReplicaPartitionError", "StopReplicaResponse"]


class StopReplicaPartitionError(Message):
    """One outcome per partition. (0+)

    Attributes:
        topic_name: Name of the topic.
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    __slots__ = ("topic_name", "partition_index", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.error_code = error_code


class StopReplicaResponse(Message):
    """StopReplicaResponse (response of API 5): versions 0-4, flexible from 2.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        partition_errors: One outcome per partition.
    """

    API_KEY: ClassVar[int] = 5
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "partition_errors")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_errors", "[]struct", StopReplicaPartitionError),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: list[StopReplicaPartitionError] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_errors = [] if partition_errors is NEW else partition_errors
