"""Generated from spec/OffsetCommitValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["OffsetCommitValue"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: UUID = ZERO_UUID

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("offset", "int64"),
        Field("leader_epoch", "int32", versions=(3, OPEN), default=-1, ignorable=True),
        Field("metadata", "string"),
        Field("commit_timestamp", "int64"),
        Field("expire_timestamp", "int64", versions=(1, 1), default=-1, ignorable=True),
        Field("topic_id", "uuid", versions=(4, OPEN), tag=0, tagged=(4, OPEN), ignorable=True),
    )
