"""Generated from spec/DeleteGroupsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DeleteGroupsRequest"]


class DeleteGroupsRequest(Message):
    """DeleteGroupsRequest (request of API 42): versions 0-2, flexible from 2.

    Attributes:
        groups_names: Groups to delete.
    """

    API_KEY: ClassVar[int] = 42
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("groups_names",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("groups_names", "[]string"),)

    def __init__(
        self,
        groups_names: list[str] = NEW,
    ) -> None:
        self.groups_names = [] if groups_names is NEW else groups_names
