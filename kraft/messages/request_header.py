"""Generated from spec/RequestHeader.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["RequestHeader"]


class RequestHeader(Message):
    """RequestHeader (header): versions 0-2, flexible from 2.

    v1 adds the client id, v2 tagged fields. The client id never became compact: a broker must read it before it can
    tell whether it knows the version.

    Attributes:
        request_api_key: API being called.
        request_api_version: Version of that API.
        correlation_id: Number that comes back in the answer.
        client_id (1+): Client's name for itself.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("request_api_key", "int16"),
        Field("request_api_version", "int16"),
        Field("correlation_id", "int32"),
        Field("client_id", "string", versions=(1, OPEN), nullable=(1, OPEN), ignorable=True, compact=False),
    )

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
