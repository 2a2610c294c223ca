"""Generated from spec/ConsumerGroupMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConsumerGroupMetadataKey"]


class ConsumerGroupMetadataKey(Message):
    """ConsumerGroupMetadataKey (data): versions 3.

    The versions of all keys in the offsets topic share one number line (KIP-848): 3 to 8 and 16 are consumer groups.

    Attributes:
        group_id (3+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (3, 3)

    __slots__ = ("group_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group_id", "string", versions=(3, OPEN)),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
