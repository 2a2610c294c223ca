"""Generated from spec/AlterUserScramCredentialsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterUserScramCredentialsResponse", "AlterUserScramCredentialsResult"]


class AlterUserScramCredentialsResult(Message):
    """One outcome per user. (0+)

    Attributes:
        user: Name of the user.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    __slots__ = ("user", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("user", "string"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


class AlterUserScramCredentialsResponse(Message):
    """AlterUserScramCredentialsResponse (response of API 51): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One outcome per user.
    """

    API_KEY: ClassVar[int] = 51
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", AlterUserScramCredentialsResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results
