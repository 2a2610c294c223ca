"""Generated from spec/TxnOffsetCommitResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["TxnOffsetCommitResponse", "TxnOffsetCommitResponsePartition", "TxnOffsetCommitResponseTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TxnOffsetCommitResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset is pending.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TxnOffsetCommitResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", TxnOffsetCommitResponsePartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TxnOffsetCommitResponse(Message):
    """TxnOffsetCommitResponse (response of API 28): versions 0-5, flexible from 3.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 28
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("topics", "[]struct", TxnOffsetCommitResponseTopic),
    )
