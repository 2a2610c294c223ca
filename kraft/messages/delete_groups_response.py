"""Generated from spec/DeleteGroupsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DeletableGroupResult", "DeleteGroupsResponse"]


class DeletableGroupResult(Message):
    """Outcome per group. (0+)

    Attributes:
        group_id: Group id.
        error_code: Error of this group, 0 if it is gone.
    """

    __slots__ = ("group_id", "error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("error_code", "int16"),
    )

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


class DeleteGroupsResponse(Message):
    """DeleteGroupsResponse (response of API 42): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        results: Outcome per group.
    """

    API_KEY: ClassVar[int] = 42
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", DeletableGroupResult),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results
