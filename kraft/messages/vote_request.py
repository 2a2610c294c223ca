"""Generated from spec/VoteRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionData", "TopicData", "VoteRequest"]


class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        replica_epoch: Epoch of the sender; for a real vote the epoch it stands in.
        replica_id: Id of the replica asking.
        replica_directory_id (1+): Directory id of the replica asking.
        voter_directory_id (1+): Directory id of the voter asked; zero accepts any.
        last_offset_epoch: Epoch of the sender's last record.
        last_offset: End offset of the sender's log.
        pre_vote (2+): Ask how the vote would go, without binding anyone.
    """

    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("replica_epoch", "int32"),
        Field("replica_id", "int32"),
        Field("replica_directory_id", "uuid", versions=(1, OPEN), ignorable=True),
        Field("voter_directory_id", "uuid", versions=(1, OPEN), ignorable=True),
        Field("last_offset_epoch", "int32"),
        Field("last_offset", "int64"),
        Field("pre_vote", "bool", versions=(2, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        voter_directory_id: UUID = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote


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


class VoteRequest(Message):
    """VoteRequest (request of API 52): versions 0-2, flexible from 0.

    v1 adds directory ids, v2 the pre-vote. Before v2 the replica was called the candidate; the layout is the same.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        voter_id (1+): Id of the voter whose vote is asked for, or -1.
        topics: One entry per topic.
    """

    API_KEY: ClassVar[int] = 52
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "voter_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN), default=None),
        Field("voter_id", "int32", versions=(1, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is NEW else topics
