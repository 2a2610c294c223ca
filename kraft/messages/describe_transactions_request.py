"""Generated from spec/DescribeTransactionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DescribeTransactionsRequest"]


class DescribeTransactionsRequest(Message):
    """DescribeTransactionsRequest (request of API 65): versions 0, flexible from 0.

    Attributes:
        transactional_ids: Transactional ids asked about.
    """

    API_KEY: ClassVar[int] = 65
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("transactional_ids",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("transactional_ids", "[]string"),)

    def __init__(
        self,
        transactional_ids: list[str] = NEW,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is NEW else transactional_ids
