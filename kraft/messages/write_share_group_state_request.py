"""Generated from spec/WriteShareGroupStateRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionData", "StateBatch", "WriteShareGroupStateRequest", "WriteStateData"]


class StateBatch(Message):
    """Delivery states of records from the start offset on. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_state: 0 available, 2 acknowledged, 4 archived.
        delivery_count: How often the records were delivered.
    """

    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_state", "int8"),
        Field("delivery_count", "int16"),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        state_epoch: How often the state was initialised; a lower one is fenced.
        leader_epoch: Leader epoch of the topic's partition, -1 for a reader that is not its leader.
        start_offset: First offset that the group still has to process, -1 if it is not known.
        delivery_complete_count (1+): Offsets from the start offset on that are acknowledged or archived, -1 if not
            counted (KIP-1226).
        state_batches: Delivery states of records from the start offset on.
    """

    __slots__ = ("partition", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("state_epoch", "int32"),
        Field("leader_epoch", "int32"),
        Field("start_offset", "int64"),
        Field("delivery_complete_count", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("state_batches", "[]struct", StateBatch),
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = NEW,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is NEW else state_batches


class WriteStateData(Message):
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


class WriteShareGroupStateRequest(Message):
    """WriteShareGroupStateRequest (request of API 85): versions 0-1, flexible from 0.

    v1 adds the completed deliveries (KIP-1226).

    Attributes:
        group_id: Share group.
        topics: Topics of the share partitions.
    """

    API_KEY: ClassVar[int] = 85
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", WriteStateData),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[WriteStateData] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
