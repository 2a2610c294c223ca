"""Generated from spec/ControlRecordTypeSchema.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ControlRecordTypeSchema"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ControlRecordTypeSchema(Message):
    """ControlRecordTypeSchema (data): versions 0.

    Key of a control record, behind its int16 version.

    Attributes:
        type: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 kraft version, 6 voters.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    type: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("type", "int16"),)
