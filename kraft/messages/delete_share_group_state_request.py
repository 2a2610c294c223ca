"""Generated from spec/DeleteShareGroupStateRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DeleteShareGroupStateRequest", "DeleteStateData", "PartitionData"]


class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
    """

    __slots__ = ("partition",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition", "int32"),)

    def __init__(
        self,
        partition: int = 0,
    ) -> None:
        self.partition = partition


class DeleteStateData(Message):
    """Topics of the share partitions. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class DeleteShareGroupStateRequest(Message):
    """DeleteShareGroupStateRequest (request of API 86): versions 0, flexible from 0.

    Attributes:
        group_id: Share group.
        topics: Topics of the share partitions.
    """

    API_KEY: ClassVar[int] = 86
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DeleteStateData),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteStateData] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
