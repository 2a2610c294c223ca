"""Generated from spec/DescribeTopicPartitionsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "Cursor",
    "DescribeTopicPartitionsResponse",
    "DescribeTopicPartitionsResponsePartition",
    "DescribeTopicPartitionsResponseTopic",
]


class DescribeTopicPartitionsResponsePartition(Message):
    """The partitions of this topic. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        partition_index: Number of the partition in its topic.
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Epoch of the partition's leadership.
        replica_nodes: Brokers that hold a replica, preferred leader first.
        isr_nodes: Replicas in sync with the leader.
        eligible_leader_replicas: Replicas outside the ISR that still hold all committed records, or null.
        last_known_elr: The eligible leaders known last, or null.
        offline_replicas: Replicas that are not available.
    """

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("partition_index", "int32"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32", default=-1, ignorable=True),
        Field("replica_nodes", "[]int32"),
        Field("isr_nodes", "[]int32"),
        Field("eligible_leader_replicas", "[]int32", nullable=(0, OPEN), default=None),
        Field("last_known_elr", "[]int32", nullable=(0, OPEN), default=None),
        Field("offline_replicas", "[]int32", ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = NEW,
        isr_nodes: list[int] = NEW,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NEW else replica_nodes
        self.isr_nodes = [] if isr_nodes is NEW else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is NEW else offline_replicas


class DescribeTopicPartitionsResponseTopic(Message):
    """One entry per topic. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        name: Name of the topic, or null.
        topic_id: Id of the topic.
        is_internal: Whether Kafka itself owns the topic.
        partitions: The partitions of this topic.
        topic_authorized_operations: Bit set of what the caller may do; the smallest int32 when unknown.
    """

    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("name", "string", nullable=(0, OPEN)),
        Field("topic_id", "uuid", ignorable=True),
        Field("is_internal", "bool", ignorable=True),
        Field("partitions", "[]struct", DescribeTopicPartitionsResponsePartition),
        Field("topic_authorized_operations", "int32", default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = NEW,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NEW else partitions
        self.topic_authorized_operations = topic_authorized_operations


class Cursor(Message):
    """Where the next request goes on, or null at the end. (0+)

    Attributes:
        topic_name: Name of the first topic not finished.
        partition_index: First partition not described.
    """

    __slots__ = ("topic_name", "partition_index")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partition_index", "int32"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsResponse(Message):
    """DescribeTopicPartitionsResponse (response of API 75): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        topics: One entry per topic.
        next_cursor: Where the next request goes on, or null at the end.
    """

    API_KEY: ClassVar[int] = 75
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "topics", "next_cursor")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("topics", "[]struct", DescribeTopicPartitionsResponseTopic),
        Field("next_cursor", "struct", Cursor, nullable=(0, OPEN), default=None),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = NEW,
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
        self.next_cursor = next_cursor
