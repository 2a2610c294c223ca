"""Generated from spec/LeaderAndIsrResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["LeaderAndIsrPartitionError", "LeaderAndIsrResponse", "LeaderAndIsrTopicError"]


class LeaderAndIsrPartitionError(Message):
    """One outcome per partition. (0+)

    Attributes:
        topic_name (0-4): Name of the topic.
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    __slots__ = ("topic_name", "partition_index", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(0, 4), ignorable=True),
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


class LeaderAndIsrTopicError(Message):
    """One entry per topic. (5+)

    Attributes:
        topic_id (5+): Id of the topic.
        partition_errors (5+): One outcome per partition.
    """

    __slots__ = ("topic_id", "partition_errors")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid", versions=(5, OPEN)),
        Field("partition_errors", "[]struct", LeaderAndIsrPartitionError, versions=(5, OPEN)),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partition_errors: list[LeaderAndIsrPartitionError] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partition_errors = [] if partition_errors is NEW else partition_errors


class LeaderAndIsrResponse(Message):
    """LeaderAndIsrResponse (response of API 4): versions 0-7, flexible from 4.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        partition_errors (0-4): One outcome per partition.
        topics (5+): One entry per topic.
    """

    API_KEY: ClassVar[int] = 4
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("error_code", "partition_errors", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_errors", "[]struct", LeaderAndIsrPartitionError, versions=(0, 4)),
        Field("topics", "[]struct", LeaderAndIsrTopicError, versions=(5, OPEN)),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: list[LeaderAndIsrPartitionError] = NEW,
        topics: list[LeaderAndIsrTopicError] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_errors = [] if partition_errors is NEW else partition_errors
        self.topics = [] if topics is NEW else topics
