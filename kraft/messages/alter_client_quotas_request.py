"""Generated from spec/AlterClientQuotasRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterClientQuotasRequest", "EntityData", "EntryData", "OpData"]


class EntityData(Message):
    """The parts that together name a quota entity. (0+)

    Attributes:
        entity_type: Kind of quota entity: user, client-id or ip.
        entity_name: Name of the entity, or null for the default entity.
    """

    __slots__ = ("entity_type", "entity_name")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity_type", "string"),
        Field("entity_name", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class OpData(Message):
    """The changes to this entity. (0+)

    Attributes:
        key: Name of the quota.
        value: Value to set; ignored when removing.
        remove: Whether the quota is removed instead of set.
    """

    __slots__ = ("key", "value", "remove")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string"),
        Field("value", "float64"),
        Field("remove", "bool"),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class EntryData(Message):
    """One entry per entity to change. (0+)

    Attributes:
        entity: The parts that together name a quota entity.
        ops: The changes to this entity.
    """

    __slots__ = ("entity", "ops")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity", "[]struct", EntityData),
        Field("ops", "[]struct", OpData),
    )

    def __init__(
        self,
        entity: list[EntityData] = NEW,
        ops: list[OpData] = NEW,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.ops = [] if ops is NEW else ops


class AlterClientQuotasRequest(Message):
    """AlterClientQuotasRequest (request of API 49): versions 0-1, flexible from 1.

    Attributes:
        entries: One entry per entity to change.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 49
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("entries", "validate_only")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entries", "[]struct", EntryData),
        Field("validate_only", "bool"),
    )

    def __init__(
        self,
        entries: list[EntryData] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.entries = [] if entries is NEW else entries
        self.validate_only = validate_only
