"""Generated from spec/AlterClientQuotasResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AlterClientQuotasResponse", "EntityData", "EntryData"]


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


class EntryData(Message):
    """One outcome per entity. (0+)

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        entity: The parts that together name a quota entity.
    """

    __slots__ = ("error_code", "error_message", "entity")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("entity", "[]struct", EntityData),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[EntityData] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is NEW else entity


class AlterClientQuotasResponse(Message):
    """AlterClientQuotasResponse (response of API 49): versions 0-1, flexible from 1.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        entries: One outcome per entity.
    """

    API_KEY: ClassVar[int] = 49
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "entries")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("entries", "[]struct", EntryData),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[EntryData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is NEW else entries
