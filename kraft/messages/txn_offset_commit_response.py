"""Generated from spec/TxnOffsetCommitResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["TxnOffsetCommitResponse", "TxnOffsetCommitResponsePartition", "TxnOffsetCommitResponseTopic"]


class TxnOffsetCommitResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset is pending.
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


class TxnOffsetCommitResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", TxnOffsetCommitResponsePartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class TxnOffsetCommitResponse(Message):
    """TxnOffsetCommitResponse (response of API 28): versions 0-5, flexible from 3.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 28
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("topics", "[]struct", TxnOffsetCommitResponseTopic),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
