"""Generated from spec/FetchSnapshotResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.splice import Records

__all__ = [
    "FetchSnapshotResponse",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "PartitionSnapshot",
    "SnapshotId",
    "TopicSnapshot",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SnapshotId(Message):
    """The snapshot, named by where it ends. (0+)

    Attributes:
        end_offset: First offset the snapshot does not contain.
        epoch: Epoch of the last record in the snapshot.
    """

    end_offset: int = 0
    epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("end_offset", "int64"),
        Field("epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class LeaderIdAndEpoch(Message):
    """The leader this server knows of, when the request went to another. (0+)

    Attributes:
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Epoch of the partition's leadership.
    """

    leader_id: int = 0
    leader_epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    index: int = 0
    error_code: int = 0
    snapshot_id: SnapshotId = attrs.Factory(SnapshotId)
    current_leader: LeaderIdAndEpoch = attrs.Factory(LeaderIdAndEpoch)
    size: int = 0
    position: int = 0
    unaligned_records: Records = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("index", "int32"),
        Field("error_code", "int16"),
        Field("snapshot_id", "struct", SnapshotId),
        Field("current_leader", "struct", LeaderIdAndEpoch, tag=0, tagged=(0, OPEN)),
        Field("size", "int64"),
        Field("position", "int64"),
        Field("unaligned_records", "records"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicSnapshot(Message):
    """One entry per topic. (0+)

    Attributes:
        name: Name of the topic.
        partitions: The partitions of this topic.
    """

    name: str = ""
    partitions: list[PartitionSnapshot] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", PartitionSnapshot),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class NodeEndpoint(Message):
    """Where to reach the nodes that the response names as leader. (1+)

    Attributes:
        node_id (1+): Id of the node.
        host (1+): Host name or address to connect to.
        port (1+): Port to connect to.
    """

    node_id: int = 0
    host: str = ""
    port: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(1, OPEN)),
        Field("host", "string", versions=(1, OPEN)),
        Field("port", "uint16", versions=(1, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[TopicSnapshot] = attrs.Factory(list)
    node_endpoints: list[NodeEndpoint] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("error_code", "int16"),
        Field("topics", "[]struct", TopicSnapshot),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(1, OPEN), tag=0, tagged=(1, OPEN)),
    )
