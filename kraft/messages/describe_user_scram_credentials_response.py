"""Generated from spec/DescribeUserScramCredentialsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["CredentialInfo", "DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult"]


class CredentialInfo(Message):
    """What credentials the user has. (0+)

    Attributes:
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
        iterations: Rounds of hashing used for the credential.
    """

    __slots__ = ("mechanism", "iterations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("mechanism", "int8"),
        Field("iterations", "int32"),
    )

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class DescribeUserScramCredentialsResult(Message):
    """One outcome per user. (0+)

    Attributes:
        user: Name of the user.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        credential_infos: What credentials the user has.
    """

    __slots__ = ("user", "error_code", "error_message", "credential_infos")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("user", "string"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("credential_infos", "[]struct", CredentialInfo),
    )

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = NEW,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is NEW else credential_infos


class DescribeUserScramCredentialsResponse(Message):
    """DescribeUserScramCredentialsResponse (response of API 50): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        results: One outcome per user.
    """

    API_KEY: ClassVar[int] = 50
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("results", "[]struct", DescribeUserScramCredentialsResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NEW else results
