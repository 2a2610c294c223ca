"""Generated from spec/ListConfigResourcesRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListConfigResourcesRequest"]


class ListConfigResourcesRequest(Message):
    """ListConfigResourcesRequest (request of API 74): versions 0-1, flexible from 0.

    Attributes:
        resource_types (1+): The wanted types of resources; none for all types.
    """

    API_KEY: ClassVar[int] = 74
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("resource_types",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("resource_types", "[]int8", versions=(1, OPEN)),)

    def __init__(
        self,
        resource_types: list[int] = NEW,
    ) -> None:
        self.resource_types = [] if resource_types is NEW else resource_types
