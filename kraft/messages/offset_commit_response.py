"""Generated from spec/OffsetCommitResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetCommitResponse", "OffsetCommitResponsePartition", "OffsetCommitResponseTopic"]


class OffsetCommitResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset was stored.
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


class OffsetCommitResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name (0-9): Topic name.
        topic_id (10+): Topic id.
        partitions: Outcome per partition.
    """

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 9), ignorable=True),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("partitions", "[]struct", OffsetCommitResponsePartition),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class OffsetCommitResponse(Message):
    """OffsetCommitResponse (response of API 8): versions 0-10, flexible from 8.

    v8 is flexible, v9 may carry KIP-848 errors, v10 names topics by id.

    Attributes:
        throttle_time_ms (3+): Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 8
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_FROM: ClassVar[int] = 8

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(3, OPEN), ignorable=True),
        Field("topics", "[]struct", OffsetCommitResponseTopic),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
