"""Generated from spec/IncrementalAlterConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterConfigsResource", "AlterableConfig", "IncrementalAlterConfigsRequest"]


class AlterableConfig(Message):
    """The changes to this resource's settings. (0+)

    Attributes:
        name: Name of the setting.
        config_operation: 0 sets, 1 deletes, 2 appends to a list, 3 subtracts from a list.
        value: Operand of the change, or null.
    """

    __slots__ = ("name", "config_operation", "value")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("config_operation", "int8"),
        Field("value", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


class AlterConfigsResource(Message):
    """The resources to change. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: The changes to this resource's settings.
    """

    __slots__ = ("resource_type", "resource_name", "configs")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("configs", "[]struct", AlterableConfig),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NEW else configs


class IncrementalAlterConfigsRequest(Message):
    """IncrementalAlterConfigsRequest (request of API 44): versions 0-1, flexible from 1.

    Attributes:
        resources: The resources to change.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 44
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("resources", "validate_only")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resources", "[]struct", AlterConfigsResource),
        Field("validate_only", "bool"),
    )

    def __init__(
        self,
        resources: list[AlterConfigsResource] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is NEW else resources
        self.validate_only = validate_only
