"""Generated from spec/AssignReplicasToDirsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AssignReplicasToDirsResponse", "DirectoryData", "PartitionData", "TopicData"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

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


class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class DirectoryData(Message):
    """Outcome, by directory. (0+)

    Attributes:
        id: Id of the log directory.
        topics: One entry per topic.
    """

    __slots__ = ("id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "uuid"),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        id: UUID = ZERO_UUID,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.id = id
        self.topics = [] if topics is NEW else topics


class AssignReplicasToDirsResponse(Message):
    """AssignReplicasToDirsResponse (response of API 73): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        directories: Outcome, by directory.
    """

    API_KEY: ClassVar[int] = 73
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "directories")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("directories", "[]struct", DirectoryData),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[DirectoryData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is NEW else directories
