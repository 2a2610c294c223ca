"""Generated from spec/DescribeUserScramCredentialsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["CredentialInfo", "DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class CredentialInfo(Message):
    """What credentials the user has. (0+)

    Attributes:
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
        iterations: Rounds of hashing used for the credential.
    """

    mechanism: int = 0
    iterations: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("mechanism", "int8"),
        Field("iterations", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeUserScramCredentialsResult(Message):
    """One outcome per user. (0+)

    Attributes:
        user: Name of the user.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        credential_infos: What credentials the user has.
    """

    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    credential_infos: list[CredentialInfo] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("user", "string"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("credential_infos", "[]struct", CredentialInfo),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("results", "[]struct", DescribeUserScramCredentialsResult),
    )
