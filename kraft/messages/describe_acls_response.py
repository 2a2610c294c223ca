"""Generated from spec/DescribeAclsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AclDescription", "DescribeAclsResource", "DescribeAclsResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AclDescription(Message):
    """The matching entries of this resource. (0+)

    Attributes:
        principal: Principal the entry is about, as Type:name.
        host: Host the entry is about, or * for any.
        operation: Operation the entry is about, as a code.
        permission_type: 2 denies, 3 allows.
    """

    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeAclsResource(Message):
    """Resources with matching entries. (0+)

    Attributes:
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        pattern_type (1+): How the resource name matches: 3 literal, 4 prefixed.
        acls: The matching entries of this resource.
    """

    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    acls: list[AclDescription] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("pattern_type", "int8", versions=(1, OPEN), default=3),
        Field("acls", "[]struct", AclDescription),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    resources: list[DescribeAclsResource] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resources", "[]struct", DescribeAclsResource),
    )
