"""Generated from spec/OffsetForLeaderEpochRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["OffsetForLeaderEpochRequest", "OffsetForLeaderPartition", "OffsetForLeaderTopic"]


class OffsetForLeaderPartition(Message):
    """Partitions asked about. (0+)

    Attributes:
        partition: Partition number.
        current_leader_epoch (2+): Leader epoch known to the sender, -1 to skip the fence.
        leader_epoch: Epoch whose end is wanted.
    """

    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("current_leader_epoch", "int32", versions=(2, OPEN), default=-1, ignorable=True),
        Field("leader_epoch", "int32"),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Message):
    """Topics asked about. (0+)

    Attributes:
        topic: Topic name.
        partitions: Partitions asked about.
    """

    __slots__ = ("topic", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]struct", OffsetForLeaderPartition),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions


class OffsetForLeaderEpochRequest(Message):
    """OffsetForLeaderEpochRequest (request of API 23): versions 0-4, flexible from 4.

    v2 adds the leader epoch fence, v3 the replica id.

    Attributes:
        replica_id (3+): Follower's broker id, -1 for a consumer, -2 if the sender is too old to say.
        topics: Topics asked about.
    """

    API_KEY: ClassVar[int] = 23
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("replica_id", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("replica_id", "int32", versions=(3, OPEN), default=-2, ignorable=True),
        Field("topics", "[]struct", OffsetForLeaderTopic),
    )

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = NEW,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is NEW else topics
