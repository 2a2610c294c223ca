"""Generated from spec/WriteTxnMarkersResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = [
    "WritableTxnMarkerPartitionResult",
    "WritableTxnMarkerResult",
    "WritableTxnMarkerTopicResult",
    "WriteTxnMarkersResponse",
]


class WritableTxnMarkerPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the marker was appended.
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


class WritableTxnMarkerTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", WritableTxnMarkerPartitionResult),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class WritableTxnMarkerResult(Message):
    """Outcome per marker. (0+)

    Attributes:
        producer_id: Producer whose transaction ends.
        topics: Outcome per topic.
    """

    __slots__ = ("producer_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("topics", "[]struct", WritableTxnMarkerTopicResult),
    )

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = NEW,
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is NEW else topics


class WriteTxnMarkersResponse(Message):
    """WriteTxnMarkersResponse (response of API 27): versions 0-2, flexible from 1.

    Attributes:
        markers: Outcome per marker.
    """

    API_KEY: ClassVar[int] = 27
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("markers",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("markers", "[]struct", WritableTxnMarkerResult),)

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = NEW,
    ) -> None:
        self.markers = [] if markers is NEW else markers
