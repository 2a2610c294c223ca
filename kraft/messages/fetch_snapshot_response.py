"""Generated from spec/FetchSnapshotResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.splice import Records

__all__ = [
    "FetchSnapshotResponse",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionSnapshot",
    "SnapshotId",
    "TopicSnapshot",
]


class SnapshotId(Message):
    """The snapshot, named by where it ends. (0+)

    Attributes:
        end_offset: First offset the snapshot does not contain.
        epoch: Epoch of the last record in the snapshot.
    """

    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64"),
        Field("epoch", "int32"),
    )

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class LeaderIdAndEpoch(Message):
    """The leader this server knows of, when the request went to another. (0+)

    Attributes:
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Epoch of the partition's leadership.
    """

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionSnapshot(Message):
    """The partitions of this topic. (0+)

    Attributes:
        index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        snapshot_id: The snapshot, named by where it ends.
        current_leader: The leader this server knows of, when the request went to another.
        size: Bytes in the whole snapshot.
        position: Byte of the snapshot these bytes start at.
        unaligned_records: Bytes of the snapshot; may begin and end inside a batch.
    """

    __slots__ = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("index", "int32"),
        Field("error_code", "int16"),
        Field("snapshot_id", "struct", SnapshotId),
        Field("current_leader", "struct", LeaderIdAndEpoch, tag=0, tagged=(0, OPEN)),
        Field("size", "int64"),
        Field("position", "int64"),
        Field("unaligned_records", "records"),
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId = NEW,
        current_leader: LeaderIdAndEpoch = NEW,
        size: int = 0,
        position: int = 0,
        unaligned_records: Records = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = SnapshotId() if snapshot_id is NEW else snapshot_id
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records


class TopicSnapshot(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions of this topic.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", PartitionSnapshot),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionSnapshot] = NEW,
    ) -> None:
        self.name = name
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


class FetchSnapshotResponse(Message):
    """FetchSnapshotResponse (response of API 59): versions 0-1, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        topics: One entry per topic.
        node_endpoints (1+): Where to reach the nodes that the response names as leader.
    """

    API_KEY: ClassVar[int] = 59
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "topics", "node_endpoints")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("error_code", "int16"),
        Field("topics", "[]struct", TopicSnapshot),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(1, OPEN), tag=0, tagged=(1, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicSnapshot] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints
