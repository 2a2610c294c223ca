"""Generated from spec/BeginQuorumEpochRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["BeginQuorumEpochRequest", "LeaderEndpoint", "PartitionData", "TopicData"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        voter_directory_id (1+): Directory id of the voter addressed; zero accepts any.
        leader_id: Id of the new leader.
        leader_epoch: Epoch the leader was elected in.
    """

    __slots__ = ("partition_index", "voter_directory_id", "leader_id", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("voter_directory_id", "uuid", versions=(1, OPEN), ignorable=True),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


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


class LeaderEndpoint(Message):
    """Where the leader listens, one entry per listener. (1+)

    Attributes:
        name (1+): Name of the listener.
        host (1+): Host name or address to connect to.
        port (1+): Port to connect to.
    """

    __slots__ = ("name", "host", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(1, OPEN)),
        Field("host", "string", versions=(1, OPEN)),
        Field("port", "uint16", versions=(1, OPEN)),
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


class BeginQuorumEpochRequest(Message):
    """BeginQuorumEpochRequest (request of API 53): versions 0-1, flexible from 1.

    v1 is flexible and adds directory ids and endpoints.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        voter_id (1+): Id of the voter addressed, or -1.
        topics: One entry per topic.
        leader_endpoints (1+): Where the leader listens, one entry per listener.
    """

    API_KEY: ClassVar[int] = 53
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("cluster_id", "voter_id", "topics", "leader_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN), default=None),
        Field("voter_id", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", TopicData),
        Field("leader_endpoints", "[]struct", LeaderEndpoint, versions=(1, OPEN), ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = NEW,
        leader_endpoints: list[LeaderEndpoint] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is NEW else topics
        self.leader_endpoints = [] if leader_endpoints is NEW else leader_endpoints
