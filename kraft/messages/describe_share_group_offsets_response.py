"""Generated from spec/DescribeShareGroupOffsetsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "DescribeShareGroupOffsetsResponse",
    "DescribeShareGroupOffsetsResponseGroup",
    "DescribeShareGroupOffsetsResponsePartition",
    "DescribeShareGroupOffsetsResponseTopic",
]


class DescribeShareGroupOffsetsResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        start_offset: First offset that the group may still deliver, or -1.
        leader_epoch: Leader epoch of the partition when its state was written.
        lag (1+): Records that are not delivered for good, or -1 if unknown.
        error_code: Error of this partition.
        error_message: Text for the error, or null.
    """

    __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("start_offset", "int64"),
        Field("leader_epoch", "int32"),
        Field("lag", "int64", versions=(1, OPEN), default=-1, ignorable=True),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponseTopic(Message):
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
        Field("partitions", "[]struct", DescribeShareGroupOffsetsResponsePartition),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class DescribeShareGroupOffsetsResponseGroup(Message):
    """Outcome per group. (0+)

    Attributes:
        group_id: Group id.
        topics: Outcome per topic.
        error_code: Error of this group.
        error_message: Text for the error, or null.
    """

    __slots__ = ("group_id", "topics", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DescribeShareGroupOffsetsResponseTopic),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = NEW,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponse(Message):
    """DescribeShareGroupOffsetsResponse (response of API 90): versions 0-1, flexible from 0.

    v1 has the lag (KIP-1226).

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        groups: Outcome per group.
    """

    API_KEY: ClassVar[int] = 90
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "groups")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("groups", "[]struct", DescribeShareGroupOffsetsResponseGroup),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups
