"""Generated from spec/OffsetForLeaderEpochRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["OffsetForLeaderEpochRequest", "OffsetForLeaderPartition", "OffsetForLeaderTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetForLeaderPartition(Message):
    """Partitions asked about. (0+)

    Attributes:
        partition: Partition number.
        current_leader_epoch (2+): Leader epoch known to the sender, -1 to skip the fence.
        leader_epoch: Epoch whose end is wanted.
    """

    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("current_leader_epoch", "int32", versions=(2, OPEN), default=-1, ignorable=True),
        Field("leader_epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OffsetForLeaderTopic(Message):
    """Topics asked about. (0+)

    Attributes:
        topic: Topic name.
        partitions: Partitions asked about.
    """

    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]struct", OffsetForLeaderPartition),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("replica_id", "int32", versions=(3, OPEN), default=-2, ignorable=True),
        Field("topics", "[]struct", OffsetForLeaderTopic),
    )
