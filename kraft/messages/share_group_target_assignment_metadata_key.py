"""Generated from spec/ShareGroupTargetAssignmentMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupTargetAssignmentMetadataKey"]


class ShareGroupTargetAssignmentMetadataKey(Message):
    """ShareGroupTargetAssignmentMetadataKey (data): versions 12.

    Attributes:
        group_id (12+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (12, 12)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(12, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
