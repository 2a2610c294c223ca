"""Generated from spec/FenceBrokerRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["FenceBrokerRecord"]


class FenceBrokerRecord(Message):
    """FenceBrokerRecord (metadata record, type 7): versions 0, flexible from 0.

    Read only: newer logs use BrokerRegistrationChangeRecord.

    Attributes:
        id: Id of the broker that is fenced.
        epoch: Epoch of the broker's registration.
    """

    API_KEY: ClassVar[int] = 7
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id", "epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "int32"),
        Field("epoch", "int64"),
    )

    def __init__(
        self,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch
