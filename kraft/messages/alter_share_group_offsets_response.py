"""Generated from spec/AlterShareGroupOffsetsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "AlterShareGroupOffsetsResponse",
    "AlterShareGroupOffsetsResponsePartition",
    "AlterShareGroupOffsetsResponseTopic",
]


class AlterShareGroupOffsetsResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition.
        error_message: Text for the error, or null.
    """

    __slots__ = ("partition_index", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class AlterShareGroupOffsetsResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        topic_name: Topic name.
        topic_id: Topic id.
        partitions: Outcome per partition.
    """

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", AlterShareGroupOffsetsResponsePartition),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class AlterShareGroupOffsetsResponse(Message):
    """AlterShareGroupOffsetsResponse (response of API 91): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        error_message: Text for the error, or null.
        responses: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 91
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("responses", "[]struct", AlterShareGroupOffsetsResponseTopic),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NEW else responses
