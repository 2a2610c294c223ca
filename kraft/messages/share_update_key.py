"""Generated from spec/ShareUpdateKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["ShareUpdateKey"]


class ShareUpdateKey(Message):
    """ShareUpdateKey (data): versions 0.

    Attributes:
        group_id (0): Share group.
        topic_id (0): Id of the topic.
        partition (0): Partition number.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("group_id", "topic_id", "partition")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string", versions=(0, 0)),
        Field("topic_id", "uuid", versions=(0, 0)),
        Field("partition", "int32", versions=(0, 0)),
    )

    def __init__(
        self,
        group_id: str = "",
        topic_id: UUID = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
