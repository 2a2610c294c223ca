"""Generated from spec/ShareGroupStatePartitionMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ShareGroupStatePartitionMetadataKey"]


class ShareGroupStatePartitionMetadataKey(Message):
    """ShareGroupStatePartitionMetadataKey (data): versions 15.

    Attributes:
        group_id (15+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (15, 15)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(15, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
