"""Generated from spec/ControlRecordTypeSchema.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["ControlRecordTypeSchema"]


class ControlRecordTypeSchema(Message):
    """ControlRecordTypeSchema (data): versions 0.

    Key of a control record, behind its int16 version.

    Attributes:
        type: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 kraft version, 6 voters.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("type",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("type", "int16"),)

    def __init__(
        self,
        type: int = 0,
    ) -> None:
        self.type = type
