"""Generated from spec/ControlledShutdownResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["ControlledShutdownResponse", "RemainingPartition"]


class RemainingPartition(Message):
    """Partitions the broker still leads. (0+)

    Attributes:
        topic_name: Name of the topic.
        partition_index: Number of the partition in its topic.
    """

    __slots__ = ("topic_name", "partition_index")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class ControlledShutdownResponse(Message):
    """ControlledShutdownResponse (response of API 7): versions 0-3, flexible from 3.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        remaining_partitions: Partitions the broker still leads.
    """

    API_KEY: ClassVar[int] = 7
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("error_code", "remaining_partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("remaining_partitions", "[]struct", RemainingPartition),
    )

    def __init__(
        self,
        error_code: int = 0,
        remaining_partitions: list[RemainingPartition] = NEW,
    ) -> None:
        self.error_code = error_code
        self.remaining_partitions = [] if remaining_partitions is NEW else remaining_partitions
