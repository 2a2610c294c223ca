"""Generated from spec/DeleteRecordsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DeleteRecordsPartitionResult", "DeleteRecordsResponse", "DeleteRecordsTopicResult"]


class DeleteRecordsPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        low_watermark: Smallest log start offset of the live replicas.
        error_code: Error of this partition, 0 if the records are gone.
    """

    __slots__ = ("partition_index", "low_watermark", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("low_watermark", "int64"),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", DeleteRecordsPartitionResult),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class DeleteRecordsResponse(Message):
    """DeleteRecordsResponse (response of API 21): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("topics", "[]struct", DeleteRecordsTopicResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
