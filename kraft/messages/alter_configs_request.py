"""Generated from spec/AlterConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AlterConfigsRequest", "AlterConfigsResource", "AlterableConfig"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterableConfig(Message):
    """All settings the resource shall keep. (0+)

    Attributes:
        name: Name of the setting.
        value: Value to set, or null.
    """

    name: str = ""
    value: str | None = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("value", "string", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterConfigsResource(Message):
    """The resources whose settings are replaced as a whole. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: All settings the resource shall keep.
    """

    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configs", "[]struct", AlterableConfig),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterConfigsRequest(Message):
    """AlterConfigsRequest (request of API 33): versions 0-2, flexible from 2.

    Attributes:
        resources: The resources whose settings are replaced as a whole.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 33
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    resources: list[AlterConfigsResource] = attrs.Factory(list)
    validate_only: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resources", "[]struct", AlterConfigsResource),
        Field("validate_only", "bool"),
    )
