"""Generated from spec/ShareGroupStatePartitionMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeletingTopic", "ShareGroupStatePartitionMetadataValue", "StateTopicPartitions"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class StateTopicPartitions(Message):
    """Partitions whose state the share coordinator is asked to initialize. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        partitions: Partition numbers.
    """

    topic_id: UUID = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("partitions", "[]int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeletingTopic(Message):
    """Topics whose state the share coordinator is asked to delete. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
    """

    topic_id: UUID = ZERO_UUID
    topic_name: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareGroupStatePartitionMetadataValue(Message):
    """ShareGroupStatePartitionMetadataValue (data): versions 0, flexible from 0.

    Attributes:
        initializing_topics: Partitions whose state the share coordinator is asked to initialize.
        initialized_topics: Partitions with a state, which members may share.
        deleting_topics: Topics whose state the share coordinator is asked to delete.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    initializing_topics: list[StateTopicPartitions] = attrs.Factory(list)
    initialized_topics: list[StateTopicPartitions] = attrs.Factory(list)
    deleting_topics: list[DeletingTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("initializing_topics", "[]struct", StateTopicPartitions),
        Field("initialized_topics", "[]struct", StateTopicPartitions),
        Field("deleting_topics", "[]struct", DeletingTopic),
    )
