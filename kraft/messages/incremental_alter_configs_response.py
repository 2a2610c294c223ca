"""Generated from spec/IncrementalAlterConfigsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterConfigsResourceResponse", "IncrementalAlterConfigsResponse"]


class AlterConfigsResourceResponse(Message):
    """One outcome per resource. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
    """

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


class IncrementalAlterConfigsResponse(Message):
    """IncrementalAlterConfigsResponse (response of API 44): versions 0-1, flexible from 1.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        responses: One outcome per resource.
    """

    API_KEY: ClassVar[int] = 44
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "responses")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("responses", "[]struct", AlterConfigsResourceResponse),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NEW else responses
