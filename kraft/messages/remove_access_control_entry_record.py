"""Generated from spec/RemoveAccessControlEntryRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["RemoveAccessControlEntryRecord"]


class RemoveAccessControlEntryRecord(Message):
    """RemoveAccessControlEntryRecord (metadata record, type 19): versions 0, flexible from 0.

    Attributes:
        id: Id of the entry that is removed.
    """

    API_KEY: ClassVar[int] = 19
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("id", "uuid"),)

    def __init__(
        self,
        id: UUID = ZERO_UUID,
    ) -> None:
        self.id = id
