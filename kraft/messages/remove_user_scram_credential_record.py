"""Generated from spec/RemoveUserScramCredentialRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["RemoveUserScramCredentialRecord"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RemoveUserScramCredentialRecord(Message):
    """RemoveUserScramCredentialRecord (metadata record, type 22): versions 0, flexible from 0.

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
    """

    API_KEY: ClassVar[int] = 22
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    name: str = ""
    mechanism: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
    )
