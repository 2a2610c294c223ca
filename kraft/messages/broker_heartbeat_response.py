"""Generated from spec/BrokerHeartbeatResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["BrokerHeartbeatResponse"]


class BrokerHeartbeatResponse(Message):
    """BrokerHeartbeatResponse (response of API 63): versions 0-2, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        is_caught_up: Whether the broker has the metadata it needs.
        is_fenced: Whether the broker is fenced.
        should_shut_down: Whether the broker may shut down now.
    """

    API_KEY: ClassVar[int] = 63
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("is_caught_up", "bool"),
        Field("is_fenced", "bool", default=True),
        Field("should_shut_down", "bool"),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
