"""Generated from spec/WriteTxnMarkersResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = [
    "WritableTxnMarkerPartitionResult",
    "WritableTxnMarkerResult",
    "WritableTxnMarkerTopicResult",
    "WriteTxnMarkersResponse",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WritableTxnMarkerPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the marker was appended.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WritableTxnMarkerTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", WritableTxnMarkerPartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WritableTxnMarkerResult(Message):
    """Outcome per marker. (0+)

    Attributes:
        producer_id: Producer whose transaction ends.
        topics: Outcome per topic.
    """

    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("topics", "[]struct", WritableTxnMarkerTopicResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class WriteTxnMarkersResponse(Message):
    """WriteTxnMarkersResponse (response of API 27): versions 0-2, flexible from 1.

    Attributes:
        markers: Outcome per marker.
    """

    API_KEY: ClassVar[int] = 27
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 1

    markers: list[WritableTxnMarkerResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("markers", "[]struct", WritableTxnMarkerResult),)
