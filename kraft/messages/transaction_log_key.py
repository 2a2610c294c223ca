"""Generated from spec/TransactionLogKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["TransactionLogKey"]


class TransactionLogKey(Message):
    """TransactionLogKey (data): versions 0.

    Attributes:
        transactional_id: Transactional id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    __slots__ = ("transactional_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("transactional_id", "string"),)

    def __init__(
        self,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
