"""Generated from spec/OffsetForLeaderEpochResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["EpochEndOffset", "OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult"]


class EpochEndOffset(Message):
    """Answers per partition. (0+)

    Attributes:
        error_code: Error of this partition.
        partition: Partition number.
        leader_epoch (1+): Largest epoch not above the one asked for, -1 if there is none.
        end_offset: Offset after that epoch's last record, -1 if unknown.
    """

    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition", "int32"),
        Field("leader_epoch", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("end_offset", "int64", default=-1),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Message):
    """Answers per topic. (0+)

    Attributes:
        topic: Topic name.
        partitions: Answers per partition.
    """

    __slots__ = ("topic", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]struct", EpochEndOffset),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions


class OffsetForLeaderEpochResponse(Message):
    """OffsetForLeaderEpochResponse (response of API 23): versions 0-4, flexible from 4.

    v1 adds the epoch found.

    Attributes:
        throttle_time_ms (2+): Time the client was held back by a quota, in milliseconds.
        topics: Answers per topic.
    """

    API_KEY: ClassVar[int] = 23
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("topics", "[]struct", OffsetForLeaderTopicResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
