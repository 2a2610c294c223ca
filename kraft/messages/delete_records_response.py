"""Generated from spec/DeleteRecordsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DeleteRecordsPartitionResult", "DeleteRecordsResponse", "DeleteRecordsTopicResult"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        low_watermark: Smallest log start offset of the live replicas.
        error_code: Error of this partition, 0 if the records are gone.
    """

    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("low_watermark", "int64"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", DeleteRecordsPartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsResponse(Message):
    """DeleteRecordsResponse (response of API 21): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("topics", "[]struct", DeleteRecordsTopicResult),
    )
