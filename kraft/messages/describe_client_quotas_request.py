"""Generated from spec/DescribeClientQuotasRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ComponentData", "DescribeClientQuotasRequest"]


class ComponentData(Message):
    """Conditions an entity must meet. (0+)

    Attributes:
        entity_type: Kind of quota entity: user, client-id or ip.
        match_type: 0 the given name, 1 the default entity, 2 any named entity.
        match: Name to match; null for the other match types.
    """

    __slots__ = ("entity_type", "match_type", "match")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity_type", "string"),
        Field("match_type", "int8"),
        Field("match", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Message):
    """DescribeClientQuotasRequest (request of API 48): versions 0-1, flexible from 1.

    Attributes:
        components: Conditions an entity must meet.
        strict: Leave out entities that have parts not asked for.
    """

    API_KEY: ClassVar[int] = 48
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("components", "strict")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("components", "[]struct", ComponentData),
        Field("strict", "bool"),
    )

    def __init__(
        self,
        components: list[ComponentData] = NEW,
        strict: bool = False,
    ) -> None:
        self.components = [] if components is NEW else components
        self.strict = strict
