"""Generated from spec/UnregisterBrokerRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["UnregisterBrokerRequest"]


class UnregisterBrokerRequest(Message):
    """UnregisterBrokerRequest (request of API 64): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker.
    """

    API_KEY: ClassVar[int] = 64
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("broker_id", "int32"),)

    def __init__(
        self,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id
