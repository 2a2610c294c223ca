"""Generated from spec/HeartbeatResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["HeartbeatResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class HeartbeatResponse(Message):
    """HeartbeatResponse (response of API 12): versions 0-4, flexible from 4.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code: 0 if all is well; REBALANCE_IN_PROGRESS asks the member to rejoin.
    """

    API_KEY: ClassVar[int] = 12
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    throttle_time_ms: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16"),
    )
