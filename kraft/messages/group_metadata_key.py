"""Generated from spec/GroupMetadataKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["GroupMetadataKey"]


class GroupMetadataKey(Message):
    """GroupMetadataKey (data): versions 2.

    The versions of all keys in the offsets topic share one number line: 0 and 1 are offsets, 2 is a group.

    Attributes:
        group (2+): Group id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (2, 2)

    __slots__ = ("group",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("group", "string", versions=(2, OPEN)),)

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group
