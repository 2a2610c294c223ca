"""Generated from spec/AccessControlEntryRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AccessControlEntryRecord"]


class AccessControlEntryRecord(Message):
    """AccessControlEntryRecord (metadata record, type 18): versions 0, flexible from 0.

    Attributes:
        id: Id of the entry.
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        pattern_type: How the resource name matches: 3 literal, 4 prefixed.
        principal: Principal the entry is about, as Type:name.
        host: Host the entry is about, or * for any.
        operation: Operation the entry is about, as a code.
        permission_type: 2 denies, 3 allows.
    """

    API_KEY: ClassVar[int] = 18
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "uuid"),
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("pattern_type", "int8"),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )

    def __init__(
        self,
        id: UUID = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
