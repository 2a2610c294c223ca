"""Generated from spec/EndTxnRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["EndTxnRequest"]


class EndTxnRequest(Message):
    """EndTxnRequest (request of API 26): versions 0-5, flexible from 3.

    v5 ends the transaction and raises the producer epoch (KIP-890, transaction.version 2).

    Attributes:
        transactional_id: Transactional id.
        producer_id: Producer id.
        producer_epoch: Producer epoch.
        committed: True to commit, false to abort.
    """

    API_KEY: ClassVar[int] = 26
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string"),
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("committed", "bool"),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
