"""Generated from spec/ShareGroupStatePartitionMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeletingTopic", "ShareGroupStatePartitionMetadataValue", "StateTopicPartitions"]


class StateTopicPartitions(Message):
    """Partitions whose state the share coordinator is asked to initialize. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_id", "topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class DeletingTopic(Message):
    """Topics whose state the share coordinator is asked to delete. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
    """

    __slots__ = ("topic_id", "topic_name")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name


class ShareGroupStatePartitionMetadataValue(Message):
    """ShareGroupStatePartitionMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        initializing_topics: Partitions whose state the share coordinator is asked to initialize.
        initialized_topics: Partitions with a state, which members may share.
        deleting_topics: Topics whose state the share coordinator is asked to delete.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("initializing_topics", "[]struct", StateTopicPartitions),
        Field("initialized_topics", "[]struct", StateTopicPartitions),
        Field("deleting_topics", "[]struct", DeletingTopic),
    )

    def __init__(
        self,
        initializing_topics: list[StateTopicPartitions] = NEW,
        initialized_topics: list[StateTopicPartitions] = NEW,
        deleting_topics: list[DeletingTopic] = NEW,
    ) -> None:
        self.initializing_topics = [] if initializing_topics is NEW else initializing_topics
        self.initialized_topics = [] if initialized_topics is NEW else initialized_topics
        self.deleting_topics = [] if deleting_topics is NEW else deleting_topics
