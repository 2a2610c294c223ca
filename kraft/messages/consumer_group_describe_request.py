"""Generated from spec/ConsumerGroupDescribeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["ConsumerGroupDescribeRequest"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ConsumerGroupDescribeRequest(Message):
    """ConsumerGroupDescribeRequest (request of API 69): versions 0-1, flexible from 0.

    v1 has the types of members in the response (KIP-1099).

    Attributes:
        group_ids: Groups to describe.
        include_authorized_operations: Include what the client may do with the group.
    """

    API_KEY: ClassVar[int] = 69
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_ids: list[str] = attrs.Factory(list)
    include_authorized_operations: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_ids", "[]string"),
        Field("include_authorized_operations", "bool"),
    )
