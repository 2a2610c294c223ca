"""Generated from spec/DescribeShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = [
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsRequestGroup",
    "DescribeShareGroupOffsetsRequestTopic",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeShareGroupOffsetsRequestTopic(Message):
    """Topics to describe, null for all. (0+)

    Attributes:
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    topic_name: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeShareGroupOffsetsRequestGroup(Message):
    """Groups whose offsets are asked for. (0+)

    Attributes:
        group_id: Group id.
        topics: Topics to describe, null for all.
    """

    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DescribeShareGroupOffsetsRequestTopic, nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeShareGroupOffsetsRequest(Message):
    """DescribeShareGroupOffsetsRequest (request of API 90): versions 0-1, flexible from 0.

    v1 equals v0. Its response has the lag (KIP-1226).

    Attributes:
        groups: Groups whose offsets are asked for.
    """

    API_KEY: ClassVar[int] = 90
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    groups: list[DescribeShareGroupOffsetsRequestGroup] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("groups", "[]struct", DescribeShareGroupOffsetsRequestGroup),)
