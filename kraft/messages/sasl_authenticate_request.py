"""Generated from spec/SaslAuthenticateRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["SaslAuthenticateRequest"]


class SaslAuthenticateRequest(Message):
    """SaslAuthenticateRequest (request of API 36): versions 0-2, flexible from 2.

    Attributes:
        auth_bytes: Client's SASL token.
    """

    API_KEY: ClassVar[int] = 36
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("auth_bytes",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("auth_bytes", "bytes"),)

    def __init__(
        self,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes
