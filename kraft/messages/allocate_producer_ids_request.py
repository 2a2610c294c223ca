"""Generated from spec/AllocateProducerIdsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["AllocateProducerIdsRequest"]


class AllocateProducerIdsRequest(Message):
    """AllocateProducerIdsRequest (request of API 67): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
    """

    API_KEY: ClassVar[int] = 67
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
