"""Generated from spec/DescribeLogDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribableLogDirTopic", "DescribeLogDirsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribableLogDirTopic(Message):
    """Topics of interest, or null for all. (0+)

    Attributes:
        topic: Name of the topic.
        partitions: Numbers of the partitions of interest.
    """

    topic: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeLogDirsRequest(Message):
    """DescribeLogDirsRequest (request of API 35): versions 0-5, flexible from 2.

    Attributes:
        topics: Topics of interest, or null for all.
    """

    API_KEY: ClassVar[int] = 35
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2

    topics: list[DescribableLogDirTopic] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", DescribableLogDirTopic, nullable=(0, OPEN)),)
