"""Generated from spec/DescribeQuorumRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DescribeQuorumRequest", "PartitionData", "TopicData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
    """

    partition_index: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: The partitions of this topic.
    """

    topic_name: str = ""
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeQuorumRequest(Message):
    """DescribeQuorumRequest (request of API 55): versions 0-2, flexible from 0.

    Attributes:
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 55
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topics: list[TopicData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicData),)
