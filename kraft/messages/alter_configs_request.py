"""Generated from spec/AlterConfigsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterConfigsRequest", "AlterConfigsResource", "AlterableConfig"]


class AlterableConfig(Message):
    """All settings the resource shall keep. (0+)

    Attributes:
        name: Name of the setting.
        value: Value to set, or null.
    """

    __slots__ = ("name", "value")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("value", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class AlterConfigsResource(Message):
    """The resources whose settings are replaced as a whole. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        configs: All settings the resource shall keep.
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


class AlterConfigsRequest(Message):
    """AlterConfigsRequest (request of API 33): versions 0-2, flexible from 2.

    Attributes:
        resources: The resources whose settings are replaced as a whole.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 33
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

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
