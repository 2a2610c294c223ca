"""Generated from spec/StopReplicaResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["StopReplicaPartitionError", "StopReplicaResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class StopReplicaPartitionError(Message):
    """One outcome per partition. (0+)

    Attributes:
        topic_name: Name of the topic.
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    topic_name: str = ""
    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class StopReplicaResponse(Message):
    """StopReplicaResponse (response of API 5): versions 0-4, flexible from 2.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        partition_errors: One outcome per partition.
    """

    API_KEY: ClassVar[int] = 5
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 2

    error_code: int = 0
    partition_errors: list[StopReplicaPartitionError] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_errors", "[]struct", StopReplicaPartitionError),
    )
