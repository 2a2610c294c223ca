"""Generated from spec/DeleteAclsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DeleteAclsFilterResult", "DeleteAclsMatchingAcl", "DeleteAclsResponse"]


class DeleteAclsMatchingAcl(Message):
    """The entries the filter matched. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        resource_type: Kind of resource, as a code.
        resource_name: Name of the resource.
        pattern_type (1+): How the resource name matches: 3 literal, 4 prefixed.
        principal: Principal the entry is about, as Type:name.
        host: Host the entry is about, or * for any.
        operation: Operation the entry is about, as a code.
        permission_type: 2 denies, 3 allows.
    """

    __slots__ = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("resource_type", "int8"),
        Field("resource_name", "string"),
        Field("pattern_type", "int8", versions=(1, OPEN), default=3),
        Field("principal", "string"),
        Field("host", "string"),
        Field("operation", "int8"),
        Field("permission_type", "int8"),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsFilterResult(Message):
    """One outcome per filter, in the order of the request. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        matching_acls: The entries the filter matched.
    """

    __slots__ = ("error_code", "error_message", "matching_acls")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("matching_acls", "[]struct", DeleteAclsMatchingAcl),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is NEW else matching_acls


class DeleteAclsResponse(Message):
    """DeleteAclsResponse (response of API 31): versions 0-3, flexible from 2.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        filter_results: One outcome per filter, in the order of the request.
    """

    API_KEY: ClassVar[int] = 31
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "filter_results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("filter_results", "[]struct", DeleteAclsFilterResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is NEW else filter_results
