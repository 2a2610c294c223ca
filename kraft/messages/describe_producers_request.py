"""Generated from spec/DescribeProducersRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DescribeProducersRequest", "TopicRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicRequest(Message):
    """Topics asked about. (0+)

    Attributes:
        name: Topic name.
        partition_indexes: Partition numbers.
    """

    name: str = ""
    partition_indexes: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partition_indexes", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeProducersRequest(Message):
    """DescribeProducersRequest (request of API 61): versions 0, flexible from 0.

    Attributes:
        topics: Topics asked about.
    """

    API_KEY: ClassVar[int] = 61
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topics: list[TopicRequest] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicRequest),)
