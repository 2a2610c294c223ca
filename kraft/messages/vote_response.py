"""Generated from spec/VoteResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["NodeEndpoint", "PartitionData", "TopicData", "VoteResponse"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        leader_id: Leader of that epoch, or -1.
        leader_epoch: Newest epoch the voter knows.
        vote_granted: Whether the vote is given.
    """

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
        Field("vote_granted", "bool"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted


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


class NodeEndpoint(Message):
    """Where to reach the nodes that the response names as leader. (1+)

    Attributes:
        node_id (1+): Id of the node.
        host (1+): Host name or address to connect to.
        port (1+): Port to connect to.
    """

    __slots__ = ("node_id", "host", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(1, OPEN)),
        Field("host", "string", versions=(1, OPEN)),
        Field("port", "uint16", versions=(1, OPEN)),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


class VoteResponse(Message):
    """VoteResponse (response of API 52): versions 0-2, flexible from 0.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        topics: One entry per topic.
        node_endpoints (1+): Where to reach the nodes that the response names as leader.
    """

    API_KEY: ClassVar[int] = 52
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("error_code", "topics", "node_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("topics", "[]struct", TopicData),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(1, OPEN), tag=0, tagged=(1, OPEN)),
    )

    def __init__(
        self,
        error_code: int = 0,
        topics: list[TopicData] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
