"""Generated from spec/ConsumerGroupPartitionMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupPartitionMetadataKey"]


class ConsumerGroupPartitionMetadataKey(Message):
    """ConsumerGroupPartitionMetadataKey (data): versions 4.

    Attributes:
        group_id (4+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (4, 4)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(4, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
