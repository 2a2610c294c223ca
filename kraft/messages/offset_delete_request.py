"""Generated from spec/OffsetDeleteRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["OffsetDeleteRequest", "OffsetDeleteRequestPartition", "OffsetDeleteRequestTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteRequestPartition(Message):
    """Partitions whose offsets are dropped. (0+)

    Attributes:
        partition_index: Partition number.
    """

    partition_index: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteRequestTopic(Message):
    """Topics whose offsets are dropped. (0+)

    Attributes:
        name: Topic name.
        partitions: Partitions whose offsets are dropped.
    """

    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", OffsetDeleteRequestPartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetDeleteRequest(Message):
    """OffsetDeleteRequest (request of API 47): versions 0.

    Attributes:
        group_id: Group whose offsets are dropped.
        topics: Topics whose offsets are dropped.
    """

    API_KEY: ClassVar[int] = 47
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", OffsetDeleteRequestTopic),
    )
