"""Generated from spec/UnregisterBrokerRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["UnregisterBrokerRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class UnregisterBrokerRequest(Message):
    """UnregisterBrokerRequest (request of API 64): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker.
    """

    API_KEY: ClassVar[int] = 64
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    broker_id: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("broker_id", "int32"),)
