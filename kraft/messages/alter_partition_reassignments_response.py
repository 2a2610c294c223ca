"""Generated from spec/AlterPartitionReassignmentsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterPartitionReassignmentsResponse", "ReassignablePartitionResponse", "ReassignableTopicResponse"]


class ReassignablePartitionResponse(Message):
    """One outcome per partition. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    __slots__ = ("partition_index", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class ReassignableTopicResponse(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: One outcome per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", ReassignablePartitionResponse),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class AlterPartitionReassignmentsResponse(Message):
    """AlterPartitionReassignmentsResponse (response of API 45): versions 0-1, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        allow_replication_factor_change (1+): The request's choice, repeated.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        responses: One entry per topic.
    """

    API_KEY: ClassVar[int] = 45
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("allow_replication_factor_change", "bool", versions=(1, OPEN), default=True, ignorable=True),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("responses", "[]struct", ReassignableTopicResponse),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NEW else responses
