"""Generated from spec/UpdateFeaturesResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["UpdatableFeatureResult", "UpdateFeaturesResponse"]


class UpdatableFeatureResult(Message):
    """One outcome per feature. (0-1)

    Attributes:
        feature: Name of the feature.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
    """

    __slots__ = ("feature", "error_code", "error_message")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("feature", "string"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


class UpdateFeaturesResponse(Message):
    """UpdateFeaturesResponse (response of API 57): versions 0-2, flexible from 0.

    v2 has no outcome per feature: all changes succeed or none.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        results (0-1): One outcome per feature.
    """

    API_KEY: ClassVar[int] = 57
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("results", "[]struct", UpdatableFeatureResult, versions=(0, 1), ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NEW else results
