"""Generated from spec/IncrementalAlterConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AlterConfigsResource", "AlterableConfig", "IncrementalAlterConfigsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterableConfig(Message):
    """The changes to this resource's settings. (0+)

    Attributes:
        name: Name of the setting.
        config_operation: 0 sets, 1 deletes, 2 appends to a list, 3 subtracts from a list.
        value: Operand of the change, or null.
    """

    name: str = ""
    config_operation: int = 0
    value: str | None = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("config_operation", "int8"),
        Field("value", "string", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterConfigsResource(Message):
    """The resources to change. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: The changes to this resource's settings.
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
class IncrementalAlterConfigsRequest(Message):
    """IncrementalAlterConfigsRequest (request of API 44): versions 0-1, flexible from 1.

    Attributes:
        resources: The resources to change.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 44
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    resources: list[AlterConfigsResource] = attrs.Factory(list)
    validate_only: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resources", "[]struct", AlterConfigsResource),
        Field("validate_only", "bool"),
    )
