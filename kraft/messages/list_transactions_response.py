"""Generated from spec/ListTransactionsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["ListTransactionsResponse", "TransactionState"]


class TransactionState(Message):
    """Transactions this broker coordinates. (0+)

    Attributes:
        transactional_id: Transactional id.
        producer_id: Producer id.
        transaction_state: State name.
    """

    __slots__ = ("transactional_id", "producer_id", "transaction_state")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string"),
        Field("producer_id", "int64"),
        Field("transaction_state", "string"),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


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

    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("unknown_state_filters", "[]string"),
        Field("transaction_states", "[]struct", TransactionState),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = NEW,
        transaction_states: list[TransactionState] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is NEW else unknown_state_filters
        self.transaction_states = [] if transaction_states is NEW else transaction_states
