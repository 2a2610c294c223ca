"""Generated from spec/EndTxnResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["EndTxnResponse"]


class EndTxnResponse(Message):
    """EndTxnResponse (response of API 26): versions 0-5, flexible from 3.

    v5 returns the id and epoch for the next transaction.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error, 0 if the outcome is decided.
        producer_id (5+): Producer id to go on with.
        producer_epoch (5+): Producer epoch to go on with.
    """

    API_KEY: ClassVar[int] = 26
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("producer_id", "int64", versions=(5, OPEN), default=-1, ignorable=True),
        Field("producer_epoch", "int16", versions=(5, OPEN), default=-1, ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
