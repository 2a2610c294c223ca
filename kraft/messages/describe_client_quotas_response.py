"""Generated from spec/DescribeClientQuotasResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribeClientQuotasResponse", "EntityData", "EntryData", "ValueData"]


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
class ValueData(Message):
    """The quotas of this entity. (0+)

    Attributes:
        key: Name of the quota.
        value: Value of the quota.
    """

    key: str = ""
    value: float = 0.0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("key", "string"),
        Field("value", "float64"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EntryData(Message):
    """Quotas of the matching entities, or null on error. (0+)

    Attributes:
        entity: The parts that together name a quota entity.
        values: The quotas of this entity.
    """

    entity: list[EntityData] = attrs.Factory(list)
    values: list[ValueData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("entity", "[]struct", EntityData),
        Field("values", "[]struct", ValueData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN)),
        Field("entries", "[]struct", EntryData, nullable=(0, OPEN)),
    )
