"""Generated from spec/SaslHandshakeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["SaslHandshakeRequest"]


class SaslHandshakeRequest(Message):
    """SaslHandshakeRequest (request of API 17): versions 0-1.

    v0 is followed by bare SASL tokens, v1 by SaslAuthenticate requests.

    Attributes:
        mechanism: Mechanism the client wants.
    """

    API_KEY: ClassVar[int] = 17
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)

    __slots__ = ("mechanism",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("mechanism", "string"),)

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism
