"""Generated from spec/DescribeProducersResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeProducersResponse", "PartitionResponse", "ProducerState", "TopicResponse"]


class ProducerState(Message):
    """Producers the partition remembers. (0+)

    Attributes:
        producer_id: Producer id.
        producer_epoch: Producer epoch.
        last_sequence: Last sequence number appended, -1 if none.
        last_timestamp: Timestamp of the last batch, -1 if none.
        coordinator_epoch: Epoch of the transaction coordinator that wrote the last marker.
        current_txn_start_offset: First offset of the open transaction, -1 if none is open.
    """

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("producer_epoch", "int32"),
        Field("last_sequence", "int32", default=-1),
        Field("last_timestamp", "int64", default=-1),
        Field("coordinator_epoch", "int32"),
        Field("current_txn_start_offset", "int64", default=-1),
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


class PartitionResponse(Message):
    """Answers per partition. (0+)

    Attributes:
        partition_index: Partition number.
        error_code: Error of this partition.
        error_message: More about the error, or null.
        active_producers: Producers the partition remembers.
    """

    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("active_producers", "[]struct", ProducerState),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is NEW else active_producers


class TopicResponse(Message):
    """Answers per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Answers per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", PartitionResponse),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class DescribeProducersResponse(Message):
    """DescribeProducersResponse (response of API 61): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        topics: Answers per topic.
    """

    API_KEY: ClassVar[int] = 61
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("topics", "[]struct", TopicResponse),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
