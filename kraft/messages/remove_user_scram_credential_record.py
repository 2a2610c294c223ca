"""Generated from spec/RemoveUserScramCredentialRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["RemoveUserScramCredentialRecord"]


class RemoveUserScramCredentialRecord(Message):
    """RemoveUserScramCredentialRecord (metadata record, type 22): versions 0, flexible from 0.

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
    """

    API_KEY: ClassVar[int] = 22
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "mechanism")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
