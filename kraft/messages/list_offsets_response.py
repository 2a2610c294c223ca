"""Generated from spec/ListOffsetsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListOffsetsPartitionResponse", "ListOffsetsResponse", "ListOffsetsTopicResponse"]


class ListOffsetsPartitionResponse(Message):
    """Answers per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition.
        old_style_offsets (0): Offsets of the segments before the time asked for, newest first.
        timestamp (1+): Timestamp of the record found, -1 if the answer is not a record.
        offset (1+): Offset found, -1 if there is none.
        leader_epoch (4+): Leader epoch of the record at that offset.
    """

    __slots__ = ("partition_index", "error_code", "old_style_offsets", "timestamp", "offset", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("old_style_offsets", "[]int64", versions=(0, 0)),
        Field("timestamp", "int64", versions=(1, OPEN), default=-1),
        Field("offset", "int64", versions=(1, OPEN), default=-1),
        Field("leader_epoch", "int32", versions=(4, OPEN), default=-1),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        old_style_offsets: list[int] = NEW,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.old_style_offsets = [] if old_style_offsets is NEW else old_style_offsets
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


class ListOffsetsTopicResponse(Message):
    """Answers per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Answers per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", ListOffsetsPartitionResponse),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class ListOffsetsResponse(Message):
    """ListOffsetsResponse (response of API 2): versions 0-11, flexible from 6.

    v1 answers with one offset and its timestamp, v4 adds the leader epoch.

    Attributes:
        throttle_time_ms (2+): Time the client was held back by a quota, in milliseconds.
        topics: Answers per topic.
    """

    API_KEY: ClassVar[int] = 2
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 11)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("topics", "[]struct", ListOffsetsTopicResponse),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
