"""Generated from spec/DescribeConfigsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = [
    "DescribeConfigsResourceResult",
    "DescribeConfigsResponse",
    "DescribeConfigsResult",
    "DescribeConfigsSynonym",
]


class DescribeConfigsSynonym(Message):
    """Places the value may come from, the one in force first. (1+)

    Attributes:
        name (1+): Name of the setting there.
        value (1+): Value there; null if secret or unset.
        source (1+): Which place this is, as a code.
    """

    __slots__ = ("name", "value", "source")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(1, OPEN)),
        Field("value", "string", versions=(1, OPEN), nullable=(0, OPEN)),
        Field("source", "int8", versions=(1, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Message):
    """The settings of the resource. (0+)

    Attributes:
        name: Name of the setting.
        value: Value of the setting; null if secret or unset.
        read_only: Whether the setting cannot be changed.
        is_default (0): Whether the value is the default.
        config_source (1+): Where the value comes from, as a code; -1 if unknown.
        is_sensitive: Whether the value is secret.
        synonyms (1+): Places the value may come from, the one in force first.
        config_type (3+): Type of the value, as a code; 0 if unknown.
        documentation (3+): What the setting does, or null.
    """

    __slots__ = (
        "name",
        "value",
        "read_only",
        "is_default",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("value", "string", nullable=(0, OPEN)),
        Field("read_only", "bool"),
        Field("is_default", "bool", versions=(0, 0)),
        Field("config_source", "int8", versions=(1, OPEN), default=-1, ignorable=True),
        Field("is_sensitive", "bool"),
        Field("synonyms", "[]struct", DescribeConfigsSynonym, versions=(1, OPEN), ignorable=True),
        Field("config_type", "int8", versions=(3, OPEN), ignorable=True),
        Field("documentation", "string", versions=(3, OPEN), nullable=(0, OPEN), ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        is_default: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = NEW,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.is_default = is_default
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is NEW else synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Message):
    """One outcome per resource. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: The settings of the resource.
    """

    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configs", "[]struct", DescribeConfigsResourceResult),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NEW else configs


class DescribeConfigsResponse(Message):
    """DescribeConfigsResponse (response of API 32): versions 0-4, flexible from 4.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One outcome per resource.
    """

    API_KEY: ClassVar[int] = 32
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", DescribeConfigsResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results
