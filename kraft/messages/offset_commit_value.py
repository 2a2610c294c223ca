"""Generated from spec/OffsetCommitValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetCommitValue"]


class OffsetCommitValue(Message):
    """OffsetCommitValue (data): versions 0-4, flexible from 4.

    v1 keeps an expiry time, v2 drops it, v3 adds the leader epoch, v4 is flexible and may hold the topic id.

    Attributes:
        offset: Next offset the group will read.
        leader_epoch (3+): Leader epoch of the last record read, -1 if unknown.
        metadata: Client's own note.
        commit_timestamp: When the offset was stored, in milliseconds.
        expire_timestamp (1): When the offset expires, in milliseconds; -1 for the broker's setting.
        topic_id (4+): Topic id, zero if unknown.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("offset", "int64"),
        Field("leader_epoch", "int32", versions=(3, OPEN), default=-1, ignorable=True),
        Field("metadata", "string"),
        Field("commit_timestamp", "int64"),
        Field("expire_timestamp", "int64", versions=(1, 1), default=-1, ignorable=True),
        Field("topic_id", "uuid", versions=(4, OPEN), tag=0, tagged=(4, OPEN), ignorable=True),
    )

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
