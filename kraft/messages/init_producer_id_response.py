"""Generated from spec/InitProducerIdResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["InitProducerIdResponse"]


class InitProducerIdResponse(Message):
    """InitProducerIdResponse (response of API 22): versions 0-5, flexible from 2.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error, 0 if the id is valid.
        producer_id: Producer id.
        producer_epoch: Producer epoch.
    """

    API_KEY: ClassVar[int] = 22
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", ignorable=True),
        Field("error_code", "int16"),
        Field("producer_id", "int64", default=-1),
        Field("producer_epoch", "int16"),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
