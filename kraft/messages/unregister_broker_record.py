"""Generated from spec/UnregisterBrokerRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["UnregisterBrokerRecord"]


class UnregisterBrokerRecord(Message):
    """UnregisterBrokerRecord (metadata record, type 1): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker that is forgotten.
        broker_epoch: Epoch of the registration that ends.
    """

    API_KEY: ClassVar[int] = 1
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64"),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
