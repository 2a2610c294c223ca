"""Generated from spec/DeleteGroupsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DeleteGroupsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteGroupsRequest(Message):
    """DeleteGroupsRequest (request of API 42): versions 0-2, flexible from 2.

    Attributes:
        groups_names: Groups to delete.
    """

    API_KEY: ClassVar[int] = 42
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    groups_names: list[str] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("groups_names", "[]string"),)
