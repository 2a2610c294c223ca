"""Generated from spec/AlterPartitionResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AlterPartitionResponse", "PartitionData", "TopicData"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Epoch of the partition's leadership.
        isr: The replicas now in sync.
        leader_recovery_state (1+): 0 recovered, 1 recovering from an unclean election.
        partition_epoch: Version of the state after the change.
    """

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
        Field("isr", "[]int32"),
        Field("leader_recovery_state", "int8", versions=(1, OPEN), ignorable=True),
        Field("partition_epoch", "int32"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = NEW,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is NEW else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name (0-1): Name of the topic.
        topic_id (2+): Id of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(0, 1), ignorable=True),
        Field("topic_id", "uuid", versions=(2, OPEN), ignorable=True),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class AlterPartitionResponse(Message):
    """AlterPartitionResponse (response of API 56): versions 0-3, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 56
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
