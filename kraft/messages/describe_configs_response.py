"""Generated from spec/DescribeConfigsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = [
    "DescribeConfigsResourceResult",
    "DescribeConfigsResponse",
    "DescribeConfigsResult",
    "DescribeConfigsSynonym",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeConfigsSynonym(Message):
    """Places the value may come from, the one in force first. (1+)

    Attributes:
        name (1+): Name of the setting there.
        value (1+): Value there; null if secret or unset.
        source (1+): Which place this is, as a code.
    """

    name: str = ""
    value: str | None = ""
    source: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(1, OPEN)),
        Field("value", "string", versions=(1, OPEN), nullable=(0, OPEN)),
        Field("source", "int8", versions=(1, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    name: str = ""
    value: str | None = ""
    read_only: bool = False
    is_default: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = attrs.Factory(list)
    config_type: int = 0
    documentation: str | None = ""

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


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeConfigsResult(Message):
    """One outcome per resource. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: The settings of the resource.
    """

    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configs", "[]struct", DescribeConfigsResourceResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeConfigsResponse(Message):
    """DescribeConfigsResponse (response of API 32): versions 0-4, flexible from 4.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        results: One outcome per resource.
    """

    API_KEY: ClassVar[int] = 32
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", DescribeConfigsResult),
    )
