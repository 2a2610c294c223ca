"""Generated from spec/ProduceResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "BatchIndexAndErrorMessage",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionProduceResponse",
    "ProduceResponse",
    "TopicProduceResponse",
]


class BatchIndexAndErrorMessage(Message):
    """Records that caused the whole batch to be dropped. (8+)

    Attributes:
        batch_index (8+): Position of the record inside its batch.
        batch_index_error_message (8+): Why this record was refused.
    """

    __slots__ = ("batch_index", "batch_index_error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("batch_index", "int32", versions=(8, OPEN)),
        Field("batch_index_error_message", "string", versions=(8, OPEN), nullable=(8, OPEN), default=None),
    )

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Message):
    """Leader the client should turn to, sent with NOT_LEADER_OR_FOLLOWER. (10+)

    Attributes:
        leader_id (10+): Leader's broker id, -1 if unknown.
        leader_epoch (10+): Newest leader epoch known here.
    """

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32", versions=(10, OPEN), default=-1),
        Field("leader_epoch", "int32", versions=(10, OPEN), default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionProduceResponse(Message):
    """Outcome per partition. (0+)

    Attributes:
        index: Partition number.
        error_code: Error of this partition, 0 if the records were appended.
        base_offset: Offset given to the first record.
        log_append_time_ms (2+): Broker's append time when the topic uses LogAppendTime, else -1.
        log_start_offset (5+): First offset the partition still holds.
        record_errors (8+): Records that caused the whole batch to be dropped.
        error_message (8+): Summary of why the batch was refused, null if there is nothing to add.
        current_leader (10+): Leader the client should turn to, sent with NOT_LEADER_OR_FOLLOWER.
    """

    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("index", "int32"),
        Field("error_code", "int16"),
        Field("base_offset", "int64"),
        Field("log_append_time_ms", "int64", versions=(2, OPEN), default=-1, ignorable=True),
        Field("log_start_offset", "int64", versions=(5, OPEN), default=-1, ignorable=True),
        Field("record_errors", "[]struct", BatchIndexAndErrorMessage, versions=(8, OPEN), ignorable=True),
        Field("error_message", "string", versions=(8, OPEN), nullable=(8, OPEN), default=None, ignorable=True),
        Field("current_leader", "struct", LeaderIdAndEpoch, versions=(10, OPEN), tag=0, tagged=(10, OPEN)),
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = NEW,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = NEW,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is NEW else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader


class TopicProduceResponse(Message):
    """Outcome per topic. (0+)

    Attributes:
        name (0-12): Topic name.
        topic_id (13+): Topic id.
        partition_responses: Outcome per partition.
    """

    __slots__ = ("name", "topic_id", "partition_responses")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partition_responses", "[]struct", PartitionProduceResponse),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is NEW else partition_responses


class NodeEndpoint(Message):
    """Addresses of every leader named in CurrentLeader. (10+)

    Attributes:
        node_id (10+): Broker id.
        host (10+): Host name.
        port (10+): Port number.
        rack (10+): Rack, null if it has none.
    """

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(10, OPEN)),
        Field("host", "string", versions=(10, OPEN)),
        Field("port", "int32", versions=(10, OPEN)),
        Field("rack", "string", versions=(10, OPEN), nullable=(10, OPEN), default=None),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class ProduceResponse(Message):
    """ProduceResponse (response of API 0): versions 0-13, flexible from 9.

    v8 names the batches that were refused (KIP-467), v10 adds leader hints (KIP-951), v13 names topics by id.

    Attributes:
        responses: Outcome per topic.
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        node_endpoints (10+): Addresses of every leader named in CurrentLeader.
    """

    API_KEY: ClassVar[int] = 0
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("responses", "[]struct", TopicProduceResponse),
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(10, OPEN), tag=0, tagged=(10, OPEN)),
    )

    def __init__(
        self,
        responses: list[TopicProduceResponse] = NEW,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.responses = [] if responses is NEW else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
