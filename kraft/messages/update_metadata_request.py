"""Generated from spec/UpdateMetadataRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "UpdateMetadataBroker",
    "UpdateMetadataEndpoint",
    "UpdateMetadataPartitionState",
    "UpdateMetadataRequest",
    "UpdateMetadataTopicState",
]


class UpdateMetadataPartitionState(Message):
    """State of each partition, in versions that do not group by topic. (0+)

    Attributes:
        topic_name (0-4): Name of the topic.
        partition_index: Number of the partition in its topic.
        controller_epoch: Epoch of the controller that made this state.
        leader: Id of the leader; -1 for none, -2 while the topic is deleted.
        leader_epoch: Epoch of the partition's leadership.
        isr: Replicas in sync with the leader.
        zk_version: Version of the partition's node in ZooKeeper.
        replicas: Brokers that hold a replica, preferred leader first.
        offline_replicas (4+): Replicas that are not available.
    """

    __slots__ = (
        "topic_name",
        "partition_index",
        "controller_epoch",
        "leader",
        "leader_epoch",
        "isr",
        "zk_version",
        "replicas",
        "offline_replicas",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(0, 4), ignorable=True),
        Field("partition_index", "int32"),
        Field("controller_epoch", "int32"),
        Field("leader", "int32"),
        Field("leader_epoch", "int32"),
        Field("isr", "[]int32"),
        Field("zk_version", "int32"),
        Field("replicas", "[]int32"),
        Field("offline_replicas", "[]int32", versions=(4, OPEN), ignorable=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = NEW,
        zk_version: int = 0,
        replicas: list[int] = NEW,
        offline_replicas: list[int] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is NEW else isr
        self.zk_version = zk_version
        self.replicas = [] if replicas is NEW else replicas
        self.offline_replicas = [] if offline_replicas is NEW else offline_replicas


class UpdateMetadataTopicState(Message):
    """State of the partitions, by topic. (5+)

    Attributes:
        topic_name (5+): Name of the topic.
        topic_id (7+): Id of the topic.
        partition_states (5+): State of each partition of the topic.
    """

    __slots__ = ("topic_name", "topic_id", "partition_states")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string", versions=(5, OPEN)),
        Field("topic_id", "uuid", versions=(7, OPEN), ignorable=True),
        Field("partition_states", "[]struct", UpdateMetadataPartitionState, versions=(5, OPEN)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_states: list[UpdateMetadataPartitionState] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partition_states = [] if partition_states is NEW else partition_states


class UpdateMetadataEndpoint(Message):
    """Where the broker listens, one entry per listener. (1+)

    Attributes:
        port (1+): Port to connect to.
        host (1+): Host name or address to connect to.
        listener (3+): Name of the listener.
        security_protocol (1+): Security protocol of the listener, as a code.
    """

    __slots__ = ("port", "host", "listener", "security_protocol")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("port", "int32", versions=(1, OPEN)),
        Field("host", "string", versions=(1, OPEN)),
        Field("listener", "string", versions=(3, OPEN), ignorable=True),
        Field("security_protocol", "int16", versions=(1, OPEN)),
    )

    def __init__(
        self,
        port: int = 0,
        host: str = "",
        listener: str = "",
        security_protocol: int = 0,
    ) -> None:
        self.port = port
        self.host = host
        self.listener = listener
        self.security_protocol = security_protocol


class UpdateMetadataBroker(Message):
    """The brokers that are alive. (0+)

    Attributes:
        id: Id of the broker.
        v0_host (0): Host name of the broker.
        v0_port (0): Port of the broker.
        endpoints (1+): Where the broker listens, one entry per listener.
        rack (2+): Rack of the broker, or null.
    """

    __slots__ = ("id", "v0_host", "v0_port", "endpoints", "rack")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "int32"),
        Field("v0_host", "string", versions=(0, 0), ignorable=True),
        Field("v0_port", "int32", versions=(0, 0), ignorable=True),
        Field("endpoints", "[]struct", UpdateMetadataEndpoint, versions=(1, OPEN), ignorable=True),
        Field("rack", "string", versions=(2, OPEN), nullable=(0, OPEN), ignorable=True),
    )

    def __init__(
        self,
        id: int = 0,
        v0_host: str = "",
        v0_port: int = 0,
        endpoints: list[UpdateMetadataEndpoint] = NEW,
        rack: str | None = "",
    ) -> None:
        self.id = id
        self.v0_host = v0_host
        self.v0_port = v0_port
        self.endpoints = [] if endpoints is NEW else endpoints
        self.rack = rack


class UpdateMetadataRequest(Message):
    """UpdateMetadataRequest (request of API 6): versions 0-8, flexible from 6.

    Sent by a ZooKeeper-era controller. v5 groups by topic, v7 adds topic ids, v8 KRaft controllers.

    Attributes:
        controller_id: Node id of the sending controller.
        is_kraft_controller (8+): Whether the sender is a KRaft controller (during a migration).
        type (8+): 0 unknown, 1 only what changed, 2 everything.
        controller_epoch: Epoch of the sending controller.
        broker_epoch (5+): Epoch the controller gave this broker at registration; -1 if unknown.
        ungrouped_partition_states (0-4): State of each partition, in versions that do not group by topic.
        topic_states (5+): State of the partitions, by topic.
        live_brokers: The brokers that are alive.
    """

    API_KEY: ClassVar[int] = 6
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 8)
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "type",
        "controller_epoch",
        "broker_epoch",
        "ungrouped_partition_states",
        "topic_states",
        "live_brokers",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("controller_id", "int32"),
        Field("is_kraft_controller", "bool", versions=(8, OPEN), json_name="isKRaftController"),
        Field("type", "int8", versions=(8, OPEN), tag=0, tagged=(8, OPEN)),
        Field("controller_epoch", "int32"),
        Field("broker_epoch", "int64", versions=(5, OPEN), default=-1, ignorable=True),
        Field("ungrouped_partition_states", "[]struct", UpdateMetadataPartitionState, versions=(0, 4)),
        Field("topic_states", "[]struct", UpdateMetadataTopicState, versions=(5, OPEN)),
        Field("live_brokers", "[]struct", UpdateMetadataBroker),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        type: int = 0,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        ungrouped_partition_states: list[UpdateMetadataPartitionState] = NEW,
        topic_states: list[UpdateMetadataTopicState] = NEW,
        live_brokers: list[UpdateMetadataBroker] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.type = type
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.ungrouped_partition_states = [] if ungrouped_partition_states is NEW else ungrouped_partition_states
        self.topic_states = [] if topic_states is NEW else topic_states
        self.live_brokers = [] if live_brokers is NEW else live_brokers
