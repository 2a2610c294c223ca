"""Generated from spec/StopReplicaRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = [
    "StopReplicaPartitionState",
    "StopReplicaPartitionV0",
    "StopReplicaRequest",
    "StopReplicaTopicState",
    "StopReplicaTopicV1",
]


class StopReplicaPartitionV0(Message):
    """The replicas to stop, one by one. (0)

    Attributes:
        topic_name (0): Name of the topic.
        partition_index (0): Number of the partition in its topic.
    """

    __slots__ = ("topic_name", "partition_index")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(0, 0)),
        Field("partition_index", "int32", versions=(0, 0)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class StopReplicaTopicV1(Message):
    """The replicas to stop, by topic. (1-2)

    Attributes:
        name (1-2): Name of the topic.
        partition_indexes (1-2): Numbers of the partitions to stop.
    """

    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(1, 2)),
        Field("partition_indexes", "[]int32", versions=(1, 2)),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes


class StopReplicaPartitionState(Message):
    """The replicas of this topic to stop. (3+)

    Attributes:
        partition_index (3+): Number of the partition in its topic.
        leader_epoch (3+): Leader epoch of the controller's decision; -1 unknown, -2 while the topic is deleted.
        delete_partition (3+): Whether this replica is deleted too.
    """

    __slots__ = ("partition_index", "leader_epoch", "delete_partition")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32", versions=(3, OPEN)),
        Field("leader_epoch", "int32", versions=(3, OPEN), default=-1),
        Field("delete_partition", "bool", versions=(3, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = -1,
        delete_partition: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.delete_partition = delete_partition


class StopReplicaTopicState(Message):
    """The replicas to stop, by topic, each with its own choices. (3+)

    Attributes:
        topic_name (3+): Name of the topic.
        partition_states (3+): The replicas of this topic to stop.
    """

    __slots__ = ("topic_name", "partition_states")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(3, OPEN)),
        Field("partition_states", "[]struct", StopReplicaPartitionState, versions=(3, OPEN)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_states: list[StopReplicaPartitionState] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states = [] if partition_states is NEW else partition_states


class StopReplicaRequest(Message):
    """StopReplicaRequest (request of API 5): versions 0-4, flexible from 2.

    Sent by a ZooKeeper-era controller. v1 groups by topic, v3 decides per replica, v4 KRaft controllers.

    Attributes:
        controller_id: Node id of the sending controller.
        is_kraft_controller (4+): Whether the sender is a KRaft controller (during a migration).
        controller_epoch: Epoch of the sending controller.
        broker_epoch (1+): Epoch the controller gave this broker at registration; -1 if unknown.
        delete_partitions (0-2): Whether the stopped replicas are deleted too.
        ungrouped_partitions (0): The replicas to stop, one by one.
        topics (1-2): The replicas to stop, by topic.
        topic_states (3+): The replicas to stop, by topic, each with its own choices.
    """

    API_KEY: ClassVar[int] = 5
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "controller_epoch",
        "broker_epoch",
        "delete_partitions",
        "ungrouped_partitions",
        "topics",
        "topic_states",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("controller_id", "int32"),
        Field("is_kraft_controller", "bool", versions=(4, OPEN), json_name="isKRaftController"),
        Field("controller_epoch", "int32"),
        Field("broker_epoch", "int64", versions=(1, OPEN), default=-1, ignorable=True),
        Field("delete_partitions", "bool", versions=(0, 2)),
        Field("ungrouped_partitions", "[]struct", StopReplicaPartitionV0, versions=(0, 0)),
        Field("topics", "[]struct", StopReplicaTopicV1, versions=(1, 2)),
        Field("topic_states", "[]struct", StopReplicaTopicState, versions=(3, OPEN)),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        delete_partitions: bool = False,
        ungrouped_partitions: list[StopReplicaPartitionV0] = NEW,
        topics: list[StopReplicaTopicV1] = NEW,
        topic_states: list[StopReplicaTopicState] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.delete_partitions = delete_partitions
        self.ungrouped_partitions = [] if ungrouped_partitions is NEW else ungrouped_partitions
        self.topics = [] if topics is NEW else topics
        self.topic_states = [] if topic_states is NEW else topic_states
