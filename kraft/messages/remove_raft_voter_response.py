"""Generated from spec/RemoveRaftVoterResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["RemoveRaftVoterResponse"]


class RemoveRaftVoterResponse(Message):
    """RemoveRaftVoterResponse (response of API 81): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    API_KEY: ClassVar[int] = 81
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
