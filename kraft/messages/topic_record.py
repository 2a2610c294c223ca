"""Generated from spec/TopicRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["TopicRecord"]


class TopicRecord(Message):
    """TopicRecord (metadata record, type 2): versions 0, flexible from 0.

    Attributes:
        name: Name of the new topic.
        topic_id: Id of the new topic.
    """

    API_KEY: ClassVar[int] = 2
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "topic_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("topic_id", "uuid"),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
