"""Generated from spec/ListTransactionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListTransactionsRequest"]


class ListTransactionsRequest(Message):
    """ListTransactionsRequest (request of API 66): versions 0-2, flexible from 0.

    v1 filters by age (KIP-994), v2 by a pattern of the transactional id (KIP-1152).

    Attributes:
        state_filters: States wanted, empty for all.
        producer_id_filters: Producer ids wanted, empty for all.
        duration_filter (1+): Only transactions open for longer than this many milliseconds; negative for all.
        transactional_id_pattern (2+): Regular expression that the transactional ids match, null or empty for all.
    """

    API_KEY: ClassVar[int] = 66
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("state_filters", "[]string"),
        Field("producer_id_filters", "[]int64"),
        Field("duration_filter", "int64", versions=(1, OPEN), default=-1),
        Field("transactional_id_pattern", "string", versions=(2, OPEN), nullable=(2, OPEN), default=None),
    )

    def __init__(
        self,
        state_filters: list[str] = NEW,
        producer_id_filters: list[int] = NEW,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = [] if state_filters is NEW else state_filters
        self.producer_id_filters = [] if producer_id_filters is NEW else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
