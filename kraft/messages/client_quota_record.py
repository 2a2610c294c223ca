"""Generated from spec/ClientQuotaRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ClientQuotaRecord", "EntityData"]


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


class ClientQuotaRecord(Message):
    """ClientQuotaRecord (metadata record, type 14): versions 0, flexible from 0.

    Attributes:
        entity: The parts that together name a quota entity.
        key: Name of the quota.
        value: Value of the quota; ignored when removing.
        remove: Whether the quota is removed instead of set.
    """

    API_KEY: ClassVar[int] = 14
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("entity", "key", "value", "remove")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity", "[]struct", EntityData),
        Field("key", "string"),
        Field("value", "float64"),
        Field("remove", "bool"),
    )

    def __init__(
        self,
        entity: list[EntityData] = NEW,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.key = key
        self.value = value
        self.remove = remove
