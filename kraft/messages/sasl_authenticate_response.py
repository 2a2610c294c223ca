"""Generated from spec/SaslAuthenticateResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["SaslAuthenticateResponse"]


class SaslAuthenticateResponse(Message):
    """SaslAuthenticateResponse (response of API 36): versions 0-2, flexible from 2.

    v1 adds the session lifetime (KIP-368).

    Attributes:
        error_code: Error, 0 if this step went well.
        error_message: More about the error, or null.
        auth_bytes: Server's SASL token.
        session_lifetime_ms (1+): Time after which the client must authenticate again, 0 for never; in milliseconds.
    """

    API_KEY: ClassVar[int] = 36
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("auth_bytes", "bytes"),
        Field("session_lifetime_ms", "int64", versions=(1, OPEN), ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
