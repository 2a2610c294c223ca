"""Generated from spec/EndQuorumEpochRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["EndQuorumEpochRequest", "LeaderEndpoint", "PartitionData", "ReplicaInfo", "TopicData"]


class ReplicaInfo(Message):
    """Voters in the order they should stand, best first. (1+)

    Attributes:
        candidate_id (1+): Id of the voter.
        candidate_directory_id (1+): Directory id of the voter.
    """

    __slots__ = ("candidate_id", "candidate_directory_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("candidate_id", "int32", versions=(1, OPEN)),
        Field("candidate_directory_id", "uuid", versions=(1, OPEN)),
    )

    def __init__(
        self,
        candidate_id: int = 0,
        candidate_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        leader_id: Id of the leader that resigns.
        leader_epoch: Epoch that ends.
        preferred_successors (0): Voters in the order they should stand, best first.
        preferred_candidates (1+): Voters in the order they should stand, best first.
    """

    __slots__ = ("partition_index", "leader_id", "leader_epoch", "preferred_successors", "preferred_candidates")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
        Field("preferred_successors", "[]int32", versions=(0, 0), ignorable=True),
        Field("preferred_candidates", "[]struct", ReplicaInfo, versions=(1, OPEN), ignorable=True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = NEW,
        preferred_candidates: list[ReplicaInfo] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = [] if preferred_successors is NEW else preferred_successors
        self.preferred_candidates = [] if preferred_candidates is NEW else preferred_candidates


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


class EndQuorumEpochRequest(Message):
    """EndQuorumEpochRequest (request of API 54): versions 0-1, flexible from 1.

    v1 is flexible, gives directory ids and endpoints, and replaces the successor ids.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        topics: One entry per topic.
        leader_endpoints (1+): Where the leader listens, one entry per listener.
    """

    API_KEY: ClassVar[int] = 54
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("cluster_id", "topics", "leader_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN), default=None),
        Field("topics", "[]struct", TopicData),
        Field("leader_endpoints", "[]struct", LeaderEndpoint, versions=(1, OPEN), ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[TopicData] = NEW,
        leader_endpoints: list[LeaderEndpoint] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is NEW else topics
        self.leader_endpoints = [] if leader_endpoints is NEW else leader_endpoints
