"""Generated from spec/ConsumerGroupTargetAssignmentMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupTargetAssignmentMetadataKey"]


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """ConsumerGroupTargetAssignmentMetadataKey (data): versions 6.

    Attributes:
        group_id (6+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (6, 6)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(6, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
