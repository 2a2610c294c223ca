"""Generated from spec/ShareGroupDescribeRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["ShareGroupDescribeRequest"]


class ShareGroupDescribeRequest(Message):
    """ShareGroupDescribeRequest (request of API 77): versions 1, flexible from 0.

    Kafka 4.0 had version 0 as a preview. 1 is the first stable version (KIP-932).

    Attributes:
        group_ids: Groups to describe.
        include_authorized_operations: Whether to say what the client may do with each group.
    """

    API_KEY: ClassVar[int] = 77
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
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
