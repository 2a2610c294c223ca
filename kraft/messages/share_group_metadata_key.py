"""Generated from spec/ShareGroupMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupMetadataKey"]


class ShareGroupMetadataKey(Message):
    """ShareGroupMetadataKey (data): versions 11.

    Attributes:
        group_id (11+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (11, 11)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(11, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
