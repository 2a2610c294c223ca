"""Generated from spec/FetchRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["FetchPartition", "FetchRequest", "FetchTopic", "ForgottenTopic", "ReplicaState"]


class ReplicaState(Message):
    """Who the follower is; left out by consumers. (15+)

    Attributes:
        replica_id (15+): Follower's broker id, -1 for a consumer.
        replica_epoch (15+): Follower's broker epoch, -1 if it has none.
    """

    __slots__ = ("replica_id", "replica_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("replica_id", "int32", versions=(15, OPEN), default=-1),
        Field("replica_epoch", "int64", versions=(15, OPEN), default=-1),
    )

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


class FetchPartition(Message):
    """Partitions to read. (0+)

    Attributes:
        partition: Partition number.
        current_leader_epoch (9+): Leader epoch known to the reader, -1 to skip the fence.
        fetch_offset: First offset wanted.
        last_fetched_epoch (12+): Epoch of the last record the follower holds, -1 if it holds none.
        log_start_offset (5+): Follower's first offset, -1 from consumers.
        partition_max_bytes: Soft limit of record bytes for this partition.
        replica_directory_id (17+): Directory id of the follower's log.
        high_watermark (18+): Follower's high watermark: -1 if unknown, the greatest int64 if it does not take part.
    """

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("current_leader_epoch", "int32", versions=(9, OPEN), default=-1, ignorable=True),
        Field("fetch_offset", "int64"),
        Field("last_fetched_epoch", "int32", versions=(12, OPEN), default=-1),
        Field("log_start_offset", "int64", versions=(5, OPEN), default=-1, ignorable=True),
        Field("partition_max_bytes", "int32"),
        Field("replica_directory_id", "uuid", versions=(17, OPEN), tag=0, tagged=(17, OPEN), ignorable=True),
        Field(
            "high_watermark",
            "int64",
            versions=(18, OPEN),
            tag=1,
            tagged=(18, OPEN),
            default=9223372036854775807,
            ignorable=True,
        ),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: UUID = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


class FetchTopic(Message):
    """Topics to read; in a session only what changed. (0+)

    Attributes:
        topic (0-12): Topic name.
        topic_id (13+): Topic id.
        partitions: Partitions to read.
    """

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string", versions=(0, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partitions", "[]struct", FetchPartition),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[FetchPartition] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class ForgottenTopic(Message):
    """Partitions that leave the session. (7+)

    Attributes:
        topic (7-12): Topic name.
        topic_id (13+): Topic id.
        partitions (7+): Partition numbers.
    """

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string", versions=(7, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partitions", "[]int32", versions=(7, OPEN)),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: UUID = ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class FetchRequest(Message):
    """FetchRequest (request of API 1): versions 0-18, flexible from 12.

    v3 bounds the whole answer, v4 adds isolation levels, v7 fetch sessions, v9 the leader epoch, v11 the client's rack,
    v12 divergence detection (KIP-595), v13 topic ids, v15 the replica's broker epoch (KIP-903), v17 the directory id
    (KIP-853), v18 the replica's high watermark (KIP-1166).

    Attributes:
        cluster_id (12+): Cluster the sender believes it is in; checked by controllers.
        replica_id (0-14): Follower's broker id, -1 for a consumer.
        replica_state (15+): Who the follower is; left out by consumers.
        max_wait_ms: Longest wait for MinBytes, in milliseconds.
        min_bytes: Fewest bytes worth answering before MaxWaitMs is over.
        max_bytes (3+): Soft limit of record bytes in the answer; a first batch may exceed it (KIP-74).
        isolation_level (4+): 0 reads up to the high watermark, 1 up to the last stable offset with aborted transactions
            listed.
        session_id (7+): Fetch session, 0 for none or a new one.
        session_epoch (7+): Place in the session: 0 opens one, -1 goes without.
        topics: Topics to read; in a session only what changed.
        forgotten_topics_data (7+): Partitions that leave the session.
        rack_id (11+): Reader's rack, used to choose a near replica (KIP-392).
    """

    API_KEY: ClassVar[int] = 1
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 18)
    FLEXIBLE_FROM: ClassVar[int] = 12

    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field(
            "cluster_id",
            "string",
            versions=(12, OPEN),
            nullable=(12, OPEN),
            tag=0,
            tagged=(12, OPEN),
            default=None,
            ignorable=True,
        ),
        Field("replica_id", "int32", versions=(0, 14), default=-1),
        Field("replica_state", "struct", ReplicaState, versions=(15, OPEN), tag=1, tagged=(15, OPEN)),
        Field("max_wait_ms", "int32"),
        Field("min_bytes", "int32"),
        Field("max_bytes", "int32", versions=(3, OPEN), default=2147483647, ignorable=True),
        Field("isolation_level", "int8", versions=(4, OPEN), ignorable=True),
        Field("session_id", "int32", versions=(7, OPEN), ignorable=True),
        Field("session_epoch", "int32", versions=(7, OPEN), default=-1, ignorable=True),
        Field("topics", "[]struct", FetchTopic),
        Field("forgotten_topics_data", "[]struct", ForgottenTopic, versions=(7, OPEN)),
        Field("rack_id", "string", versions=(11, OPEN), ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState = NEW,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = NEW,
        forgotten_topics_data: list[ForgottenTopic] = NEW,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is NEW else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is NEW else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is NEW else forgotten_topics_data
        self.rack_id = rack_id
