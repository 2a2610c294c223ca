"""Generated from spec/ApiVersionsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ApiVersionsRequest"]


class ApiVersionsRequest(Message):
    """ApiVersionsRequest (request of API 18): versions 0-4, flexible from 3.

    v3 names the client software. v4 changes only the answer.

    Attributes:
        client_software_name (3+): Name of the client library.
        client_software_version (3+): Version of the client library.
    """

    API_KEY: ClassVar[int] = 18
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("client_software_name", "client_software_version")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("client_software_name", "string", versions=(3, OPEN), ignorable=True),
        Field("client_software_version", "string", versions=(3, OPEN), ignorable=True),
    )

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
