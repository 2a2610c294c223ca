"""Generated from spec/DescribeClientQuotasResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["DescribeClientQuotasResponse", "EntityData", "EntryData", "ValueData"]


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


class ValueData(Message):
    """The quotas of this entity. (0+)

    Attributes:
        key: Name of the quota.
        value: Value of the quota.
    """

    __slots__ = ("key", "value")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string"),
        Field("value", "float64"),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


class EntryData(Message):
    """Quotas of the matching entities, or null on error. (0+)

    Attributes:
        entity: The parts that together name a quota entity.
        values: The quotas of this entity.
    """

    __slots__ = ("entity", "values")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity", "[]struct", EntityData),
        Field("values", "[]struct", ValueData),
    )

    def __init__(
        self,
        entity: list[EntityData] = NEW,
        values: list[ValueData] = NEW,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.values = [] if values is NEW else values


class DescribeClientQuotasResponse(Message):
    """DescribeClientQuotasResponse (response of API 48): versions 0-1, flexible from 1.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        error_message: Text explaining the error, or null.
        entries: Quotas of the matching entities, or null on error.
    """

    API_KEY: ClassVar[int] = 48
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("entries", "[]struct", EntryData, nullable=(0, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is NEW else entries
