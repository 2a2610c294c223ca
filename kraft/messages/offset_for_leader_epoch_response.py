"""Generated from spec/OffsetForLeaderEpochResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["EpochEndOffset", "OffsetForLeaderEpochResponse", "OffsetForLeaderTopicResult"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EpochEndOffset(Message):
    """Answers per partition. (0+)

    Attributes:
        error_code: Error of this partition.
        partition: Partition number.
        leader_epoch (1+): Largest epoch not above the one asked for, -1 if there is none.
        end_offset: Offset after that epoch's last record, -1 if unknown.
    """

    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition", "int32"),
        Field("leader_epoch", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("end_offset", "int64", default=-1),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetForLeaderTopicResult(Message):
    """Answers per topic. (0+)

    Attributes:
        topic: Topic name.
        partitions: Answers per partition.
    """

    topic: str = ""
    partitions: list[EpochEndOffset] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]struct", EpochEndOffset),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetForLeaderEpochResponse(Message):
    """OffsetForLeaderEpochResponse (response of API 23): versions 0-4, flexible from 4.

    v1 adds the epoch found.

    Attributes:
        throttle_time_ms (2+): Time the client was held back by a quota, in milliseconds.
        topics: Answers per topic.
    """

    API_KEY: ClassVar[int] = 23
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(2, OPEN), ignorable=True),
        Field("topics", "[]struct", OffsetForLeaderTopicResult),
    )
