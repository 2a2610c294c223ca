"""Generated from spec/TransactionLogKey.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["TransactionLogKey"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TransactionLogKey(Message):
    """TransactionLogKey (data): versions 0.

    Attributes:
        transactional_id: Transactional id.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)

    transactional_id: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("transactional_id", "string"),)
