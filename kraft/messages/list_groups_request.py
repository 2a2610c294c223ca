"""Generated from spec/ListGroupsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ListGroupsRequest"]


class ListGroupsRequest(Message):
    """ListGroupsRequest (request of API 16): versions 0-5, flexible from 3.

    v4 filters by state (KIP-518), v5 by type (KIP-848).

    Attributes:
        states_filter (4+): States wanted, empty for all.
        types_filter (5+): Types wanted, empty for all.
    """

    API_KEY: ClassVar[int] = 16
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("states_filter", "types_filter")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("states_filter", "[]string", versions=(4, OPEN)),
        Field("types_filter", "[]string", versions=(5, OPEN)),
    )

    def __init__(
        self,
        states_filter: list[str] = NEW,
        types_filter: list[str] = NEW,
    ) -> None:
        self.states_filter = [] if states_filter is NEW else states_filter
        self.types_filter = [] if types_filter is NEW else types_filter
