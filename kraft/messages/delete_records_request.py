"""Generated from spec/DeleteRecordsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DeleteRecordsPartition", "DeleteRecordsRequest", "DeleteRecordsTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsPartition(Message):
    """Partitions to shorten. (0+)

    Attributes:
        partition_index: Partition number.
        offset: First offset to keep, -1 for the high watermark.
    """

    partition_index: int = 0
    offset: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("offset", "int64"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsTopic(Message):
    """Topics to shorten. (0+)

    Attributes:
        name: Topic name.
        partitions: Partitions to shorten.
    """

    name: str = ""
    partitions: list[DeleteRecordsPartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", DeleteRecordsPartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteRecordsRequest(Message):
    """DeleteRecordsRequest (request of API 21): versions 0-2, flexible from 2.

    Attributes:
        topics: Topics to shorten.
        timeout_ms: Longest wait for the followers, in milliseconds.
    """

    API_KEY: ClassVar[int] = 21
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    topics: list[DeleteRecordsTopic] = attrs.Factory(list)
    timeout_ms: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", DeleteRecordsTopic),
        Field("timeout_ms", "int32"),
    )
