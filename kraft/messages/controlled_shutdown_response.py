"""Generated from spec/ControlledShutdownResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ControlledShutdownResponse", "RemainingPartition"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RemainingPartition(Message):
    """Partitions the broker still leads. (0+)

    Attributes:
        topic_name: Name of the topic.
        partition_index: Number of the partition in its topic.
    """

    topic_name: str = ""
    partition_index: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ControlledShutdownResponse(Message):
    """ControlledShutdownResponse (response of API 7): versions 0-3, flexible from 3.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        remaining_partitions: Partitions the broker still leads.
    """

    API_KEY: ClassVar[int] = 7
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 3

    error_code: int = 0
    remaining_partitions: list[RemainingPartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("remaining_partitions", "[]struct", RemainingPartition),
    )
