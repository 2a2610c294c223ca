"""Generated from spec/DescribeTopicPartitionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["Cursor", "DescribeTopicPartitionsRequest", "TopicRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicRequest(Message):
    """The topics to describe. (0+)

    Attributes:
        name: Name of the topic.
    """

    name: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("name", "string"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Cursor(Message):
    """Where to go on, or null for the beginning. (0+)

    Attributes:
        topic_name: Name of the first topic to describe.
        partition_index: First partition of that topic to describe.
    """

    topic_name: str = ""
    partition_index: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeTopicPartitionsRequest(Message):
    """DescribeTopicPartitionsRequest (request of API 75): versions 0, flexible from 0.

    Attributes:
        topics: The topics to describe.
        response_partition_limit: Most partitions the response may hold.
        cursor: Where to go on, or null for the beginning.
    """

    API_KEY: ClassVar[int] = 75
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topics: list[TopicRequest] = attrs.Factory(list)
    response_partition_limit: int = 2000
    cursor: Cursor | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]struct", TopicRequest),
        Field("response_partition_limit", "int32", default=2000),
        Field("cursor", "struct", Cursor, nullable=(0, OPEN), default=None),
    )
