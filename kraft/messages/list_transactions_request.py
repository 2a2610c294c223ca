"""Generated from spec/ListTransactionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ListTransactionsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ListTransactionsRequest(Message):
    """ListTransactionsRequest (request of API 66): versions 0-1, flexible from 0.

    v1 filters by age (KIP-994).

    Attributes:
        state_filters: States wanted, empty for all.
        producer_id_filters: Producer ids wanted, empty for all.
        duration_filter (1+): Only transactions open for longer than this many milliseconds; negative for all.
    """

    API_KEY: ClassVar[int] = 66
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    state_filters: list[str] = attrs.Factory(list)
    producer_id_filters: list[int] = attrs.Factory(list)
    duration_filter: int = -1

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("state_filters", "[]string"),
        Field("producer_id_filters", "[]int64"),
        Field("duration_filter", "int64", versions=(1, OPEN), default=-1),
    )
