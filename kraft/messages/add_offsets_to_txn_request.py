"""Generated from spec/AddOffsetsToTxnRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["AddOffsetsToTxnRequest"]


class AddOffsetsToTxnRequest(Message):
    """AddOffsetsToTxnRequest (request of API 25): versions 0-4, flexible from 3.

    v4 may be answered with TRANSACTION_ABORTABLE.

    Attributes:
        transactional_id: Transactional id.
        producer_id: Producer id.
        producer_epoch: Producer epoch.
        group_id: Group whose offsets join the transaction.
    """

    API_KEY: ClassVar[int] = 25
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string"),
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("group_id", "string"),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
