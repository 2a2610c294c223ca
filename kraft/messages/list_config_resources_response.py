"""Generated from spec/ListConfigResourcesResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ConfigResource", "ListConfigResourcesResponse"]


class ConfigResource(Message):
    """The resources. (0+)

    Attributes:
        resource_name: Name of the resource.
        resource_type (1+): Type of the resource, as a code.
    """

    __slots__ = ("resource_name", "resource_type")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_name", "string"),
        Field("resource_type", "int8", versions=(1, OPEN), default=16, ignorable=True),
    )

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


class ListConfigResourcesResponse(Message):
    """ListConfigResourcesResponse (response of API 74): versions 0-1, flexible from 0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code: Error of the whole request.
        config_resources: The resources.
    """

    API_KEY: ClassVar[int] = 74
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "config_resources")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("config_resources", "[]struct", ConfigResource),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is NEW else config_resources
