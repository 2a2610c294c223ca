"""Generated from spec/ReadShareGroupStateResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionResult", "ReadShareGroupStateResponse", "ReadStateResult", "StateBatch"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class StateBatch(Message):
    """Delivery states of records from the start offset on. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_state: 0 available, 2 acknowledged, 4 archived.
        delivery_count: How often the records were delivered.
    """

    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_state", "int8"),
        Field("delivery_count", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionResult(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        state_epoch: How often the state was initialised; a lower one is fenced.
        start_offset: First offset that the group still has to process, -1 if it is not known.
        state_batches: Delivery states of records from the start offset on.
    """

    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: list[StateBatch] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("state_epoch", "int32"),
        Field("start_offset", "int64"),
        Field("state_batches", "[]struct", StateBatch),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReadStateResult(Message):
    """Results by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[PartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReadShareGroupStateResponse(Message):
    """ReadShareGroupStateResponse (response of API 84): versions 0, flexible from 0.

    Attributes:
        results: Results by topic.
    """

    API_KEY: ClassVar[int] = 84
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    results: list[ReadStateResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("results", "[]struct", ReadStateResult),)
