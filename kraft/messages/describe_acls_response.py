"""Generated from spec/DescribeAclsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AclDescription", "DescribeAclsResource", "DescribeAclsResponse"]


class AclDescription(Message):
    """The matching entries of this resource. (0+)

    Attributes:
        principal: Principal the entry is about, as Type:name.
        host: Host the entry is about, or * for any.
        operation: Operation the entry is about, as a code.
        permission_type: 2 denies, 3 allows.
    """

    __slots__ = ("principal", "host", "operation", "permission_type")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DescribeAclsResource(Message):
    """Resources with matching entries. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        pattern_type (1+): How the resource name matches: 3 literal, 4 prefixed.
        acls: The matching entries of this resource.
    """

    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("pattern_type", "int8", versions=(1, OPEN), default=3),
        Field("acls", "[]struct", AclDescription),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is NEW else acls


class DescribeAclsResponse(Message):
    """DescribeAclsResponse (response of API 29): versions 0-3, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        resources: Resources with matching entries.
    """

    API_KEY: ClassVar[int] = 29
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resources", "[]struct", DescribeAclsResource),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is NEW else resources
