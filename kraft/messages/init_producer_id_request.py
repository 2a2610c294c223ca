"""Generated from spec/InitProducerIdRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["InitProducerIdRequest"]


class InitProducerIdRequest(Message):
    """InitProducerIdRequest (request of API 22): versions 0-5, flexible from 2.

    v3 lets a producer raise its own epoch (KIP-360), v5 may be answered with TRANSACTION_ABORTABLE (KIP-890).

    Attributes:
        transactional_id: Transactional id, null for a producer that is only idempotent.
        transaction_timeout_ms: Age at which an open transaction is aborted, in milliseconds; only with a transactional
            id.
        producer_id (3+): Producer id in use, -1 to get one.
        producer_epoch (3+): Epoch in use, -1 if there is none; checked against the coordinator's.
    """

    API_KEY: ClassVar[int] = 22
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string", nullable=(0, OPEN)),
        Field("transaction_timeout_ms", "int32"),
        Field("producer_id", "int64", versions=(3, OPEN), default=-1),
        Field("producer_epoch", "int16", versions=(3, OPEN), default=-1),
    )

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
