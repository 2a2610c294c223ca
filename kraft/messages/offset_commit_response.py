"""Generated from spec/OffsetCommitResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetCommitResponse", "OffsetCommitResponsePartition", "OffsetCommitResponseTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetCommitResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset was stored.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetCommitResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name (0-9): Topic name.
        topic_id (10+): Topic id.
        partitions: Outcome per partition.
    """

    name: str = ""
    topic_id: UUID = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 9), ignorable=True),
        Field("topic_id", "uuid", versions=(10, OPEN), ignorable=True),
        Field("partitions", "[]struct", OffsetCommitResponsePartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetCommitResponse(Message):
    """OffsetCommitResponse (response of API 8): versions 0-10, flexible from 8.

    v8 is flexible, v9 may carry KIP-848 errors, v10 names topics by id.

    Attributes:
        throttle_time_ms (3+): Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 8
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_FROM: ClassVar[int] = 8

    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(3, OPEN), ignorable=True),
        Field("topics", "[]struct", OffsetCommitResponseTopic),
    )
