"""Generated from spec/ConfigRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["ConfigRecord"]


class ConfigRecord(Message):
    """ConfigRecord (metadata record, type 4): versions 0, flexible from 0.

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        name: Name of the setting.
        value: Value of the setting; null takes the setting away.
    """

    API_KEY: ClassVar[int] = 4
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("resource_type", "resource_name", "name", "value")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("name", "string"),
        Field("value", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
