"""Generated from spec/HeartbeatResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["HeartbeatResponse"]


class HeartbeatResponse(Message):
    """HeartbeatResponse (response of API 12): versions 0-4, flexible from 4.

    Attributes:
        throttle_time_ms (1+): Time the client was held back by a quota, in milliseconds.
        error_code: 0 if all is well; REBALANCE_IN_PROGRESS asks the member to rejoin.
    """

    API_KEY: ClassVar[int] = 12
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32", versions=(1, OPEN), ignorable=True),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
