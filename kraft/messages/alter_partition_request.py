"""Generated from spec/AlterPartitionRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AlterPartitionRequest", "BrokerState", "PartitionData", "TopicData"]


class BrokerState(Message):
    """Replicas that shall be in sync, with their broker epochs. (3+)

    Attributes:
        broker_id (3+): Id of the replica's broker.
        broker_epoch (3+): Epoch the leader knows for it, or -1 to skip the check.
    """

    __slots__ = ("broker_id", "broker_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32", versions=(3, OPEN)),
        Field("broker_epoch", "int64", versions=(3, OPEN), default=-1),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        leader_epoch: Epoch of the partition's leadership.
        new_isr (0-2): Ids of the replicas that shall be in sync.
        new_isr_with_epochs (3+): Replicas that shall be in sync, with their broker epochs.
        leader_recovery_state (1+): 0 recovered, 1 recovering from an unclean election.
        partition_epoch: Version of the state this change builds on.
    """

    __slots__ = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("leader_epoch", "int32"),
        Field("new_isr", "[]int32", versions=(0, 2)),
        Field("new_isr_with_epochs", "[]struct", BrokerState, versions=(3, OPEN)),
        Field("leader_recovery_state", "int8", versions=(1, OPEN)),
        Field("partition_epoch", "int32"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = NEW,
        new_isr_with_epochs: list[BrokerState] = NEW,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is NEW else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is NEW else new_isr_with_epochs
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


class AlterPartitionRequest(Message):
    """AlterPartitionRequest (request of API 56): versions 0-3, flexible from 0.

    v2 names topics by id, v3 gives a broker epoch with each replica of the ISR.

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 56
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is NEW else topics
