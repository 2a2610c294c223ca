"""Generated from spec/DescribeGroupsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeGroupsRequest"]


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

    __slots__ = ("groups", "include_authorized_operations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("groups", "[]string"),
        Field("include_authorized_operations", "bool", versions=(3, OPEN)),
    )

    def __init__(
        self,
        groups: list[str] = NEW,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is NEW else groups
        self.include_authorized_operations = include_authorized_operations
