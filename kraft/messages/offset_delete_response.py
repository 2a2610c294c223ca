"""Generated from spec/OffsetDeleteResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["OffsetDeleteResponse", "OffsetDeleteResponsePartition", "OffsetDeleteResponseTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteResponsePartition(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition, 0 if the offset is gone.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteResponseTopic(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Outcome per partition.
    """

    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OffsetDeleteResponsePartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteResponse(Message):
    """OffsetDeleteResponse (response of API 47): versions 0.

    Attributes:
        error_code: Error of the whole request.
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Outcome per topic.
    """

    API_KEY: ClassVar[int] = 47
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("topics", "[]struct", OffsetDeleteResponseTopic),
    )
