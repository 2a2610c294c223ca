"""Generated from spec/ConsumerGroupDescribeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["ConsumerGroupDescribeRequest"]


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

    __slots__ = ("group_ids", "include_authorized_operations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_ids", "[]string"),
        Field("include_authorized_operations", "bool"),
    )

    def __init__(
        self,
        group_ids: list[str] = NEW,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is NEW else group_ids
        self.include_authorized_operations = include_authorized_operations
