"""Generated from spec/AlterShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = [
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsRequestPartition",
    "AlterShareGroupOffsetsRequestTopic",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterShareGroupOffsetsRequestPartition(Message):
    """Partitions. (0+)

    Attributes:
        partition_index: Partition number.
        start_offset: First offset that the group delivers from now on.
    """

    partition_index: int = 0
    start_offset: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("start_offset", "int64"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterShareGroupOffsetsRequestTopic(Message):
    """Topics whose start offsets change. (0+)

    Attributes:
        topic_name: Topic name.
        partitions: Partitions.
    """

    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", AlterShareGroupOffsetsRequestPartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterShareGroupOffsetsRequest(Message):
    """AlterShareGroupOffsetsRequest (request of API 91): versions 0, flexible from 0.

    Attributes:
        group_id: Group id.
        topics: Topics whose start offsets change.
    """

    API_KEY: ClassVar[int] = 91
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", AlterShareGroupOffsetsRequestTopic),
    )
