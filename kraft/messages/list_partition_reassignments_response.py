"""Generated from spec/ListPartitionReassignmentsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ListPartitionReassignmentsResponse", "OngoingPartitionReassignment", "OngoingTopicReassignment"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OngoingPartitionReassignment(Message):
    """The partitions being reassigned. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        replicas: Brokers that hold the partition now.
        adding_replicas: Replicas being added.
        removing_replicas: Replicas being removed.
    """

    partition_index: int = 0
    replicas: list[int] = attrs.Factory(list)
    adding_replicas: list[int] = attrs.Factory(list)
    removing_replicas: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("replicas", "[]int32"),
        Field("adding_replicas", "[]int32"),
        Field("removing_replicas", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OngoingTopicReassignment(Message):
    """Topics with a running reassignment. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions being reassigned.
    """

    name: str = ""
    partitions: list[OngoingPartitionReassignment] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OngoingPartitionReassignment),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("topics", "[]struct", OngoingTopicReassignment),
    )
