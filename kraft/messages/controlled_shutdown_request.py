"""Generated from spec/ControlledShutdownRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ControlledShutdownRequest"]


class ControlledShutdownRequest(Message):
    """ControlledShutdownRequest (request of API 7): versions 0-3, flexible from 3.

    Sent to a ZooKeeper-era controller, which is a broker. The request header of v0 has no client id.

    Attributes:
        broker_id: Id of the broker that wants to stop.
        broker_epoch (2+): Epoch the controller gave this broker at registration; -1 if unknown.
    """

    API_KEY: ClassVar[int] = 7
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("broker_id", "broker_epoch")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", versions=(2, OPEN), default=-1, ignorable=True),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
