"""Generated from spec/DescribeLogDirsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeLogDirsPartition", "DescribeLogDirsResponse", "DescribeLogDirsResult", "DescribeLogDirsTopic"]


class DescribeLogDirsPartition(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        partition_size: Bytes in the replica's segments.
        offset_lag: Offsets the replica is behind: the high watermark for a current log, the current log's end for a
            future one.
        is_future_key: Whether this is a copy on the move that will replace the current log.
    """

    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("partition_size", "int64"),
        Field("offset_lag", "int64"),
        Field("is_future_key", "bool"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Message):
    """What the directory holds, by topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", DescribeLogDirsPartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class DescribeLogDirsResult(Message):
    """One entry per log directory. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        log_dir: Absolute path of the directory.
        topics: What the directory holds, by topic.
        total_bytes (4+): Size of the volume in bytes, or -1.
        usable_bytes (4+): Bytes still free on the volume, or -1.
        is_cordoned (5+): Whether the directory takes no new replicas.
    """

    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("log_dir", "string"),
        Field("topics", "[]struct", DescribeLogDirsTopic),
        Field("total_bytes", "int64", versions=(4, OPEN), default=-1, ignorable=True),
        Field("usable_bytes", "int64", versions=(4, OPEN), default=-1, ignorable=True),
        Field("is_cordoned", "bool", versions=(5, OPEN), ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = NEW,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is NEW else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


class DescribeLogDirsResponse(Message):
    """DescribeLogDirsResponse (response of API 35): versions 0-5, flexible from 2.

    v3 adds the top-level error, v4 the size of the volume, v5 cordoned directories.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code (3+): The outcome as a Kafka error code; 0 is success.
        results: One entry per log directory.
    """

    API_KEY: ClassVar[int] = 35
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16", versions=(3, OPEN), ignorable=True),
        Field("results", "[]struct", DescribeLogDirsResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is NEW else results
