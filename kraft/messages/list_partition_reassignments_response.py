"""Generated from spec/ListPartitionReassignmentsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListPartitionReassignmentsResponse", "OngoingPartitionReassignment", "OngoingTopicReassignment"]


class OngoingPartitionReassignment(Message):
    """The partitions being reassigned. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        replicas: Brokers that hold the partition now.
        adding_replicas: Replicas being added.
        removing_replicas: Replicas being removed.
    """

    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("replicas", "[]int32"),
        Field("adding_replicas", "[]int32"),
        Field("removing_replicas", "[]int32"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = NEW,
        adding_replicas: list[int] = NEW,
        removing_replicas: list[int] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is NEW else replicas
        self.adding_replicas = [] if adding_replicas is NEW else adding_replicas
        self.removing_replicas = [] if removing_replicas is NEW else removing_replicas


class OngoingTopicReassignment(Message):
    """Topics with a running reassignment. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions being reassigned.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OngoingPartitionReassignment),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class ListPartitionReassignmentsResponse(Message):
    """ListPartitionReassignmentsResponse (response of API 46): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        topics: Topics with a running reassignment.
    """

    API_KEY: ClassVar[int] = 46
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("topics", "[]struct", OngoingTopicReassignment),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NEW else topics
