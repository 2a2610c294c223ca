"""Generated from spec/ShareUpdateKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareUpdateKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ShareUpdateKey(Message):
    """ShareUpdateKey (data): versions 0.

    Attributes:
        group_id (0): Share group.
        topic_id (0): Id of the topic.
        partition (0): Partition number.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    group_id: str = ""
    topic_id: UUID = ZERO_UUID
    partition: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(0, 0)),
        Field("topic_id", "uuid", versions=(0, 0)),
        Field("partition", "int32", versions=(0, 0)),
    )
