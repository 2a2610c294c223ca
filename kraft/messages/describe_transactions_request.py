"""Generated from spec/DescribeTransactionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DescribeTransactionsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeTransactionsRequest(Message):
    """DescribeTransactionsRequest (request of API 65): versions 0, flexible from 0.

    Attributes:
        transactional_ids: Transactional ids asked about.
    """

    API_KEY: ClassVar[int] = 65
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    transactional_ids: list[str] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("transactional_ids", "[]string"),)
