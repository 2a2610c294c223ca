"""Generated from spec/RemoveTopicRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["RemoveTopicRecord"]


class RemoveTopicRecord(Message):
    """RemoveTopicRecord (metadata record, type 9): versions 0, flexible from 0.

    Attributes:
        topic_id: Id of the topic that is deleted.
    """

    API_KEY: ClassVar[int] = 9
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_id", "uuid"),)

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.topic_id = topic_id
