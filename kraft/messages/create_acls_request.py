"""Generated from spec/CreateAclsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AclCreation", "CreateAclsRequest"]


class AclCreation(Message):
    """The entries to add. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        resource_pattern_type (1+): How the resource name matches: 3 literal, 4 prefixed.
        principal: Principal the entry is about, as Type:name.
        host: Host the entry is about, or * for any.
        operation: Operation the entry is about, as a code.
        permission_type: 2 denies, 3 allows.
    """

    __slots__ = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("resource_pattern_type", "int8", versions=(1, OPEN), default=3),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class CreateAclsRequest(Message):
    """CreateAclsRequest (request of API 30): versions 0-3, flexible from 2.

    Attributes:
        creations: The entries to add.
    """

    API_KEY: ClassVar[int] = 30
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("creations",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("creations", "[]struct", AclCreation),)

    def __init__(
        self,
        creations: list[AclCreation] = NEW,
    ) -> None:
        self.creations = [] if creations is NEW else creations
