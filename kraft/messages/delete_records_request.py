"""Generated from spec/DeleteRecordsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DeleteRecordsPartition", "DeleteRecordsRequest", "DeleteRecordsTopic"]


class DeleteRecordsPartition(Message):
    """Partitions to shorten. (0+)

    Attributes:
        partition_index: Partition number.
        offset: First offset to keep, -1 for the high watermark.
    """

    __slots__ = ("partition_index", "offset")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("offset", "int64"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


class DeleteRecordsTopic(Message):
    """Topics to shorten. (0+)

    Attributes:
        name: Topic name.
        partitions: Partitions to shorten.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", DeleteRecordsPartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class DeleteRecordsRequest(Message):
    """DeleteRecordsRequest (request of API 21): versions 0-2, flexible from 2.

    Attributes:
        topics: Topics to shorten.
        timeout_ms: Longest wait for the followers, in milliseconds.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", DeleteRecordsTopic),
        Field("timeout_ms", "int32"),
    )

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
