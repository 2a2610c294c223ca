"""Generated from spec/RemoveDelegationTokenRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["RemoveDelegationTokenRecord"]


class RemoveDelegationTokenRecord(Message):
    """RemoveDelegationTokenRecord (metadata record, type 26): versions 0, flexible from 0.

    Attributes:
        token_id: Id of the token that is removed.
    """

    API_KEY: ClassVar[int] = 26
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("token_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("token_id", "string"),)

    def __init__(
        self,
        token_id: str = "",
    ) -> None:
        self.token_id = token_id
