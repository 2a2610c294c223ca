"""Generated from spec/AlterClientQuotasRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AlterClientQuotasRequest", "EntityData", "EntryData", "OpData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EntityData(Message):
    """The parts that together name a quota entity. (0+)

    Attributes:
        entity_type: Kind of quota entity: user, client-id or ip.
        entity_name: Name of the entity, or null for the default entity.
    """

    entity_type: str = ""
    entity_name: str | None = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity_type", "string"),
        Field("entity_name", "string", nullable=(0, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class OpData(Message):
    """The changes to this entity. (0+)

    Attributes:
        key: Name of the quota.
        value: Value to set; ignored when removing.
        remove: Whether the quota is removed instead of set.
    """

    key: str = ""
    value: float = 0.0
    remove: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string"),
        Field("value", "float64"),
        Field("remove", "bool"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EntryData(Message):
    """One entry per entity to change. (0+)

    Attributes:
        entity: The parts that together name a quota entity.
        ops: The changes to this entity.
    """

    entity: list[EntityData] = attrs.Factory(list)
    ops: list[OpData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity", "[]struct", EntityData),
        Field("ops", "[]struct", OpData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterClientQuotasRequest(Message):
    """AlterClientQuotasRequest (request of API 49): versions 0-1, flexible from 1.

    Attributes:
        entries: One entry per entity to change.
        validate_only: Check the request but change nothing.
    """

    API_KEY: ClassVar[int] = 49
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    entries: list[EntryData] = attrs.Factory(list)
    validate_only: bool = False

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entries", "[]struct", EntryData),
        Field("validate_only", "bool"),
    )
