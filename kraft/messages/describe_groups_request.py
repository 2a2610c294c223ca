"""Generated from spec/DescribeGroupsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribeGroupsRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DescribeGroupsRequest(Message):
    """DescribeGroupsRequest (request of API 15): versions 0-6, flexible from 5.

    v3 can ask for the allowed operations, v6 answers GROUP_ID_NOT_FOUND instead of a dead group (KIP-1043).

    Attributes:
        groups: Groups asked about.
        include_authorized_operations (3+): Also tell what the caller may do with each group.
    """

    API_KEY: ClassVar[int] = 15
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int] = 5

    groups: list[str] = attrs.Factory(list)
    include_authorized_operations: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("groups", "[]string"),
        Field("include_authorized_operations", "bool", versions=(3, OPEN)),
    )
