"""Generated from spec/DescribeQuorumResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["DescribeQuorumResponse", "Listener", "Node", "PartitionData", "ReplicaState", "TopicData"]


class ReplicaState(Message):
    """State of each voter. (0+)

    Attributes:
        replica_id: Node id of the replica.
        replica_directory_id (2+): Directory id of the replica.
        log_end_offset: End offset of its log as the leader knows it, or -1.
        last_fetch_timestamp (1+): When it last fetched, in leader's milliseconds since the epoch, or -1.
        last_caught_up_timestamp (1+): When it last had the whole log, in leader's milliseconds since the epoch, or -1.
    """

    __slots__ = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("replica_id", "int32"),
        Field("replica_directory_id", "uuid", versions=(2, OPEN)),
        Field("log_end_offset", "int64"),
        Field("last_fetch_timestamp", "int64", versions=(1, OPEN), default=-1, ignorable=True),
        Field("last_caught_up_timestamp", "int64", versions=(1, OPEN), default=-1, ignorable=True),
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message (2+): Text explaining the error, or null.
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Newest epoch.
        high_watermark: First offset not committed.
        current_voters: State of each voter.
        observers: State of each replica without a vote.
    """

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", versions=(2, OPEN), nullable=(2, OPEN), ignorable=True),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
        Field("high_watermark", "int64"),
        Field("current_voters", "[]struct", ReplicaState),
        Field("observers", "[]struct", ReplicaState),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = NEW,
        observers: list[ReplicaState] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is NEW else current_voters
        self.observers = [] if observers is NEW else observers


class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("topic_name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", PartitionData),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions


class Listener(Message):
    """The node's listeners. (2+)

    Attributes:
        name (2+): Name of the listener.
        host (2+): Host name or address to connect to.
        port (2+): Port to connect to.
    """

    __slots__ = ("name", "host", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(2, OPEN)),
        Field("host", "string", versions=(2, OPEN)),
        Field("port", "uint16", versions=(2, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class Node(Message):
    """Where to reach the voters. (2+)

    Attributes:
        node_id (2+): Id of the node.
        listeners (2+): The node's listeners.
    """

    __slots__ = ("node_id", "listeners")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(2, OPEN)),
        Field("listeners", "[]struct", Listener, versions=(2, OPEN)),
    )

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = NEW,
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is NEW else listeners


class DescribeQuorumResponse(Message):
    """DescribeQuorumResponse (response of API 55): versions 0-2, flexible from 0.

    v1 adds timestamps, v2 directory ids, messages and nodes.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message (2+): Text explaining the error, or null.
        topics: One entry per topic.
        nodes (2+): Where to reach the voters.
    """

    API_KEY: ClassVar[int] = 55
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("error_code", "error_message", "topics", "nodes")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", versions=(2, OPEN), nullable=(2, OPEN), ignorable=True),
        Field("topics", "[]struct", TopicData),
        Field("nodes", "[]struct", Node, versions=(2, OPEN)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[TopicData] = NEW,
        nodes: list[Node] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NEW else topics
        self.nodes = [] if nodes is NEW else nodes
