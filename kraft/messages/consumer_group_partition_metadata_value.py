"""Generated from spec/ConsumerGroupPartitionMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupPartitionMetadataValue", "PartitionMetadata", "TopicMetadata"]


class PartitionMetadata(Message):
    """Racks of the partitions, empty since Kafka 4.0. (0+)

    Attributes:
        partition: Partition number.
        racks: Racks of its replicas.
    """

    __slots__ = ("partition", "racks")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("racks", "[]string"),
    )

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = NEW,
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is NEW else racks


class TopicMetadata(Message):
    """Subscribed topics. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        num_partitions: Number of partitions.
        partition_metadata: Racks of the partitions, empty since Kafka 4.0.
    """

    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("num_partitions", "int32"),
        Field("partition_metadata", "[]struct", PartitionMetadata),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is NEW else partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    """ConsumerGroupPartitionMetadataValue (data): versions 0, flexible from 0.

    Kafka 4.0 writes it. Newer releases keep a hash in ConsumerGroupMetadataValue, and only delete these records.

    Attributes:
        topics: Subscribed topics.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicMetadata),)

    def __init__(
        self,
        topics: list[TopicMetadata] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics
