"""Generated from spec/ListOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListOffsetsPartition", "ListOffsetsRequest", "ListOffsetsTopic"]


class ListOffsetsPartition(Message):
    """Partitions asked about. (0+)

    Attributes:
        partition_index: Partition number.
        current_leader_epoch (4+): Leader epoch known to the client, -1 to skip the fence.
        timestamp: Time in milliseconds, or a negative marker: -1 latest, -2 earliest.
        max_num_offsets (0): Most offsets to return.
    """

    __slots__ = ("partition_index", "current_leader_epoch", "timestamp", "max_num_offsets")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("current_leader_epoch", "int32", versions=(4, OPEN), default=-1, ignorable=True),
        Field("timestamp", "int64"),
        Field("max_num_offsets", "int32", versions=(0, 0), default=1),
    )

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        max_num_offsets: int = 1,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.max_num_offsets = max_num_offsets


class ListOffsetsTopic(Message):
    """Topics asked about. (0+)

    Attributes:
        name: Topic name.
        partitions: Partitions asked about.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", ListOffsetsPartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class ListOffsetsRequest(Message):
    """ListOffsetsRequest (request of API 2): versions 0-11, flexible from 6.

    v1 returns one offset instead of a list, v7 adds the timestamp -3 (greatest timestamp), v8 -4 (earliest local), v9
    -5 (latest tiered), v10 a timeout for remote storage, v11 -6 (earliest to be tiered).

    Attributes:
        replica_id: Follower's broker id, -1 for a consumer.
        isolation_level (2+): 0 counts up to the high watermark, 1 up to the last stable offset.
        topics: Topics asked about.
        timeout_ms (10+): Longest wait for tiered storage, in milliseconds.
    """

    API_KEY: ClassVar[int] = 2
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 11)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("replica_id", "int32"),
        Field("isolation_level", "int8", versions=(2, OPEN)),
        Field("topics", "[]struct", ListOffsetsTopic),
        Field("timeout_ms", "int32", versions=(10, OPEN), ignorable=True),
    )

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
