"""Generated from spec/AssignReplicasToDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AssignReplicasToDirsRequest", "DirectoryData", "PartitionData", "TopicData"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
    """

    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class TopicData(Message):
    """What the directory holds, by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: The partitions of this topic.
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


class DirectoryData(Message):
    """Where replicas are placed, by directory. (0+)

    Attributes:
        id: Id of the log directory.
        topics: What the directory holds, by topic.
    """

    __slots__ = ("id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "uuid"),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        id: UUID = ZERO_UUID,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.id = id
        self.topics = [] if topics is NEW else topics


class AssignReplicasToDirsRequest(Message):
    """AssignReplicasToDirsRequest (request of API 73): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
        directories: Where replicas are placed, by directory.
    """

    API_KEY: ClassVar[int] = 73
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "directories")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
        Field("directories", "[]struct", DirectoryData),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[DirectoryData] = NEW,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is NEW else directories
