"""Generated from spec/EnvelopeResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["EnvelopeResponse"]


class EnvelopeResponse(Message):
    """EnvelopeResponse (response of API 58): versions 0, flexible from 0.

    Attributes:
        response_data: The response to the forwarded request, its header included, or null.
        error_code: Outcome of the forwarding itself; 0 is success.
    """

    API_KEY: ClassVar[int] = 58
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("response_data", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("response_data", "bytes", nullable=(0, OPEN), default=None),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
