"""Generated from spec/ShareGroupTargetAssignmentMemberValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareGroupTargetAssignmentMemberValue", "ShareTargetTopicPartitions"]


class ShareTargetTopicPartitions(Message):
    """Partitions that the member shall share. (0+)

    Attributes:
        topic_id: Topic id.
        partitions: Partition numbers.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class ShareGroupTargetAssignmentMemberValue(Message):
    """ShareGroupTargetAssignmentMemberValue (data): versions 0, flexible from 0.

    Attributes:
        topic_partitions: Partitions that the member shall share.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_partitions",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_partitions", "[]struct", ShareTargetTopicPartitions),)

    def __init__(
        self,
        topic_partitions: list[ShareTargetTopicPartitions] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions
