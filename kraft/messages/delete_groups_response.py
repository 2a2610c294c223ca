"""Generated from spec/DeleteGroupsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DeletableGroupResult", "DeleteGroupsResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeletableGroupResult(Message):
    """Outcome per group. (0+)

    Attributes:
        group_id: Group id.
        error_code: Error of this group, 0 if it is gone.
    """

    group_id: str = ""
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteGroupsResponse(Message):
    """DeleteGroupsResponse (response of API 42): versions 0-2, flexible from 2.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        results: Outcome per group.
    """

    API_KEY: ClassVar[int] = 42
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("results", "[]struct", DeletableGroupResult),
    )
