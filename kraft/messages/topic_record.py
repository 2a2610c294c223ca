"""Generated from spec/TopicRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["TopicRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicRecord(Message):
    """TopicRecord (metadata record, type 2): versions 0, flexible from 0.

    Attributes:
        name: Name of the new topic.
        topic_id: Id of the new topic.
    """

    API_KEY: ClassVar[int] = 2
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    name: str = ""
    topic_id: UUID = ZERO_UUID

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("topic_id", "uuid"),
    )
