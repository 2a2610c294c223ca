"""Generated from spec/LeaderAndIsrRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["LeaderAndIsrLiveLeader", "LeaderAndIsrPartitionState", "LeaderAndIsrRequest", "LeaderAndIsrTopicState"]


class LeaderAndIsrPartitionState(Message):
    """State of each partition, in versions that do not group by topic. (0+)

    Attributes:
        topic_name (0-1): Name of the topic.
        partition_index: Number of the partition in its topic.
        controller_epoch: Epoch of the controller that made this state.
        leader: Id of the leader; -1 for none, -2 while the topic is deleted.
        leader_epoch: Epoch of the partition's leadership.
        isr: Replicas in sync with the leader.
        partition_epoch: Version of the partition's state; each change adds one.
        replicas: Brokers that hold a replica, preferred leader first.
        adding_replicas (3+): Replicas being added.
        removing_replicas (3+): Replicas being removed.
        is_new (1+): Whether the replica has never existed on the broker.
        leader_recovery_state (6+): 0 recovered, 1 recovering from an unclean election.
    """

    __slots__ = (
        "topic_name",
        "partition_index",
        "controller_epoch",
        "leader",
        "leader_epoch",
        "isr",
        "partition_epoch",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "is_new",
        "leader_recovery_state",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(0, 1), ignorable=True),
        Field("partition_index", "int32"),
        Field("controller_epoch", "int32"),
        Field("leader", "int32"),
        Field("leader_epoch", "int32"),
        Field("isr", "[]int32"),
        Field("partition_epoch", "int32"),
        Field("replicas", "[]int32"),
        Field("adding_replicas", "[]int32", versions=(3, OPEN), ignorable=True),
        Field("removing_replicas", "[]int32", versions=(3, OPEN), ignorable=True),
        Field("is_new", "bool", versions=(1, OPEN), ignorable=True),
        Field("leader_recovery_state", "int8", versions=(6, OPEN)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = NEW,
        partition_epoch: int = 0,
        replicas: list[int] = NEW,
        adding_replicas: list[int] = NEW,
        removing_replicas: list[int] = NEW,
        is_new: bool = False,
        leader_recovery_state: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is NEW else isr
        self.partition_epoch = partition_epoch
        self.replicas = [] if replicas is NEW else replicas
        self.adding_replicas = [] if adding_replicas is NEW else adding_replicas
        self.removing_replicas = [] if removing_replicas is NEW else removing_replicas
        self.is_new = is_new
        self.leader_recovery_state = leader_recovery_state


class LeaderAndIsrTopicState(Message):
    """State of the partitions, by topic. (2+)

    Attributes:
        topic_name (2+): Name of the topic.
        topic_id (5+): Id of the topic.
        partition_states (2+): State of each partition of the topic.
    """

    __slots__ = ("topic_name", "topic_id", "partition_states")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(2, OPEN)),
        Field("topic_id", "uuid", versions=(5, OPEN), ignorable=True),
        Field("partition_states", "[]struct", LeaderAndIsrPartitionState, versions=(2, OPEN)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_states: list[LeaderAndIsrPartitionState] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = [] if partition_states is NEW else partition_states


class LeaderAndIsrLiveLeader(Message):
    """Brokers that lead a partition named here. (0+)

    Attributes:
        broker_id: Id of the broker.
        host_name: Host name of the broker.
        port: Port of the broker.
    """

    __slots__ = ("broker_id", "host_name", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("host_name", "string"),
        Field("port", "int32"),
    )

    def __init__(
        self,
        broker_id: int = 0,
        host_name: str = "",
        port: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.host_name = host_name
        self.port = port


class LeaderAndIsrRequest(Message):
    """LeaderAndIsrRequest (request of API 4): versions 0-7, flexible from 4.

    Sent by a ZooKeeper-era controller. v2 groups by topic, v5 adds topic ids, v7 KRaft controllers.

    Attributes:
        controller_id: Node id of the sending controller.
        is_kraft_controller (7+): Whether the sender is a KRaft controller (during a migration).
        controller_epoch: Epoch of the sending controller.
        broker_epoch (2+): Epoch the controller gave this broker at registration; -1 if unknown.
        type (5+): 0 unknown, 1 only what changed, 2 everything.
        ungrouped_partition_states (0-1): State of each partition, in versions that do not group by topic.
        topic_states (2+): State of the partitions, by topic.
        live_leaders: Brokers that lead a partition named here.
    """

    API_KEY: ClassVar[int] = 4
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "controller_epoch",
        "broker_epoch",
        "type",
        "ungrouped_partition_states",
        "topic_states",
        "live_leaders",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("controller_id", "int32"),
        Field("is_kraft_controller", "bool", versions=(7, OPEN), json_name="isKRaftController"),
        Field("controller_epoch", "int32"),
        Field("broker_epoch", "int64", versions=(2, OPEN), default=-1, ignorable=True),
        Field("type", "int8", versions=(5, OPEN)),
        Field("ungrouped_partition_states", "[]struct", LeaderAndIsrPartitionState, versions=(0, 1)),
        Field("topic_states", "[]struct", LeaderAndIsrTopicState, versions=(2, OPEN)),
        Field("live_leaders", "[]struct", LeaderAndIsrLiveLeader),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        type: int = 0,
        ungrouped_partition_states: list[LeaderAndIsrPartitionState] = NEW,
        topic_states: list[LeaderAndIsrTopicState] = NEW,
        live_leaders: list[LeaderAndIsrLiveLeader] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.type = type
        self.ungrouped_partition_states = [] if ungrouped_partition_states is NEW else ungrouped_partition_states
        self.topic_states = [] if topic_states is NEW else topic_states
        self.live_leaders = [] if live_leaders is NEW else live_leaders
