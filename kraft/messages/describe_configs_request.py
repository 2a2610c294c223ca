"""Generated from spec/DescribeConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribeConfigsRequest", "DescribeConfigsResource"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeConfigsResource(Message):
    """The resources to describe. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configuration_keys: Settings wanted, or null for all.
    """

    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configuration_keys", "[]string", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    resources: list[DescribeConfigsResource] = attrs.Factory(list)
    include_synonyms: bool = False
    include_documentation: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resources", "[]struct", DescribeConfigsResource),
        Field("include_synonyms", "bool", versions=(1, OPEN)),
        Field("include_documentation", "bool", versions=(3, OPEN)),
    )
