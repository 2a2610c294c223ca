"""Generated from spec/DescribeConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeConfigsRequest", "DescribeConfigsResource"]


class DescribeConfigsResource(Message):
    """The resources to describe. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configuration_keys: Settings wanted, or null for all.
    """

    __slots__ = ("resource_type", "resource_name", "configuration_keys")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configuration_keys", "[]string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is NEW else configuration_keys


class DescribeConfigsRequest(Message):
    """DescribeConfigsRequest (request of API 32): versions 0-4, flexible from 4.

    Attributes:
        resources: The resources to describe.
        include_synonyms (1+): Also list every place the value may come from.
        include_documentation (3+): Also give the documentation of each setting.
    """

    API_KEY: ClassVar[int] = 32
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("resources", "include_synonyms", "include_documentation")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resources", "[]struct", DescribeConfigsResource),
        Field("include_synonyms", "bool", versions=(1, OPEN)),
        Field("include_documentation", "bool", versions=(3, OPEN)),
    )

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = NEW,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is NEW else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
