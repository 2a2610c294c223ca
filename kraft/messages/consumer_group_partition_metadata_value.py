"""Generated from spec/ConsumerGroupPartitionMetadataValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ConsumerGroupPartitionMetadataValue", "PartitionMetadata", "TopicMetadata"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionMetadata(Message):
    """Racks of the partitions, empty since Kafka 4.0. (0+)

    Attributes:
        partition: Partition number.
        racks: Racks of its replicas.
    """

    partition: int = 0
    racks: list[str] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("racks", "[]string"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicMetadata(Message):
    """Subscribed topics. (0+)

    Attributes:
        topic_id: Topic id.
        topic_name: Topic name.
        num_partitions: Number of partitions.
        partition_metadata: Racks of the partitions, empty since Kafka 4.0.
    """

    topic_id: UUID = ZERO_UUID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("topic_name", "string"),
        Field("num_partitions", "int32"),
        Field("partition_metadata", "[]struct", PartitionMetadata),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupPartitionMetadataValue(Message):
    """ConsumerGroupPartitionMetadataValue (data): versions 0, flexible from 0.

    Kafka 4.0 writes it. Newer releases keep a hash in ConsumerGroupMetadataValue, and only delete these records.

    Attributes:
        topics: Subscribed topics.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    topics: list[TopicMetadata] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topics", "[]struct", TopicMetadata),)
