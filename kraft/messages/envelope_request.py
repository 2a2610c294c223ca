"""Generated from spec/EnvelopeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["EnvelopeRequest"]


class EnvelopeRequest(Message):
    """EnvelopeRequest (request of API 58): versions 0, flexible from 0.

    Attributes:
        request_data: The forwarded request, its header included.
        request_principal: The client's principal, serialized, or null.
        client_host_address: Address of the client, 4 or 16 bytes.
    """

    API_KEY: ClassVar[int] = 58
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("request_data", "request_principal", "client_host_address")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("request_data", "bytes"),
        Field("request_principal", "bytes", nullable=(0, OPEN)),
        Field("client_host_address", "bytes"),
    )

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
