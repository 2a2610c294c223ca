"""Generated from spec/InitializeShareGroupStateResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["InitializeShareGroupStateResponse", "InitializeStateResult", "PartitionResult"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionResult(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
    """

    partition: int = 0
    error_code: int = 0
    error_message: str | None = None

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class InitializeStateResult(Message):
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
class InitializeShareGroupStateResponse(Message):
    """InitializeShareGroupStateResponse (response of API 83): versions 0, flexible from 0.

    Attributes:
        results: Results by topic.
    """

    API_KEY: ClassVar[int] = 83
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    results: list[InitializeStateResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("results", "[]struct", InitializeStateResult),)
