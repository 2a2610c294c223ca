"""Generated from spec/OffsetDeleteResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["OffsetDeleteResponse", "OffsetDeleteResponsePartition", "OffsetDeleteResponseTopic"]


class OffsetDeleteResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset is gone.
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


class OffsetDeleteResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OffsetDeleteResponsePartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class OffsetDeleteResponse(Message):
    """OffsetDeleteResponse (response of API 47): versions 0.

    Attributes:
        error_code: Error of the whole request.
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 47
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("error_code", "throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("topics", "[]struct", OffsetDeleteResponseTopic),
    )

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = NEW,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
