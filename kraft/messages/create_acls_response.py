"""Generated from spec/CreateAclsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AclCreationResult", "CreateAclsResponse"]


class AclCreationResult(Message):
    """One outcome per entry, in the order of the request. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    __slots__ = ("error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


class CreateAclsResponse(Message):
    """CreateAclsResponse (response of API 30): versions 0-3, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One outcome per entry, in the order of the request.
    """

    API_KEY: ClassVar[int] = 30
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", AclCreationResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results
