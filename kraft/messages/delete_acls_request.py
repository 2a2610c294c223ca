"""Generated from spec/DeleteAclsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DeleteAclsFilter", "DeleteAclsRequest"]


class DeleteAclsFilter(Message):
    """Each filter removes every entry it matches. (0+)

    Attributes:
        resource_type_filter: Kind of resource to match, as a code.
        resource_name_filter: Resource name to match, or null for any.
        pattern_type_filter (1+): Pattern type to match: 1 any, 2 all that apply, 3 literal, 4 prefixed.
        principal_filter: Principal to match, or null for any.
        host_filter: Host to match, or null for any.
        operation: Operation to match, as a code.
        permission_type: Permission to match: 1 any, 2 deny, 3 allow.
    """

    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type_filter", "int8"),
        Field("resource_name_filter", "string", nullable=(0, OPEN)),
        Field("pattern_type_filter", "int8", versions=(1, OPEN), default=3),
        Field("principal_filter", "string", nullable=(0, OPEN)),
        Field("host_filter", "string", nullable=(0, OPEN)),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsRequest(Message):
    """DeleteAclsRequest (request of API 31): versions 0-3, flexible from 2.

    Attributes:
        filters: Each filter removes every entry it matches.
    """

    API_KEY: ClassVar[int] = 31
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("filters",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("filters", "[]struct", DeleteAclsFilter),)

    def __init__(
        self,
        filters: list[DeleteAclsFilter] = NEW,
    ) -> None:
        self.filters = [] if filters is NEW else filters
