"""Generated from spec/ListTransactionsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ListTransactionsResponse", "TransactionState"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TransactionState(Message):
    """Transactions this broker coordinates. (0+)

    Attributes:
        transactional_id: Transactional id.
        producer_id: Producer id.
        transaction_state: State name.
    """

    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string"),
        Field("producer_id", "int64"),
        Field("transaction_state", "string"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ListTransactionsResponse(Message):
    """ListTransactionsResponse (response of API 66): versions 0-2, flexible from 0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        unknown_state_filters: State names in the request that mean nothing here.
        transaction_states: Transactions this broker coordinates.
    """

    API_KEY: ClassVar[int] = 66
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = attrs.Factory(list)
    transaction_states: list[TransactionState] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("unknown_state_filters", "[]string"),
        Field("transaction_states", "[]struct", TransactionState),
    )
