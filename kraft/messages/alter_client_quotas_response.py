"""Generated from spec/AlterClientQuotasResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["AlterClientQuotasResponse", "EntityData", "EntryData"]


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
class EntryData(Message):
    """One outcome per entity. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        entity: The parts that together name a quota entity.
    """

    error_code: int = 0
    error_message: str | None = ""
    entity: list[EntityData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("entity", "[]struct", EntityData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterClientQuotasResponse(Message):
    """AlterClientQuotasResponse (response of API 49): versions 0-1, flexible from 1.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        entries: One outcome per entity.
    """

    API_KEY: ClassVar[int] = 49
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    throttle_time_ms: int = 0
    entries: list[EntryData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("entries", "[]struct", EntryData),
    )
