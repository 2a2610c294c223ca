"""Generated from spec/ReadShareGroupStateResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionResult", "ReadShareGroupStateResponse", "ReadStateResult", "StateBatch"]


class StateBatch(Message):
    """Delivery states of records from the start offset on. (0+)

    Attributes:
        first_offset: First offset of the batch.
        last_offset: Last offset of the batch.
        delivery_state: 0 available, 2 acknowledged, 4 archived.
        delivery_count: How often the records were delivered.
    """

    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("first_offset", "int64"),
        Field("last_offset", "int64"),
        Field("delivery_state", "int8"),
        Field("delivery_count", "int16"),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


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

    __slots__ = ("partition", "error_code", "error_message", "state_epoch", "start_offset", "state_batches")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("state_epoch", "int32"),
        Field("start_offset", "int64"),
        Field("state_batches", "[]struct", StateBatch),
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = NEW,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches = [] if state_batches is NEW else state_batches


class ReadStateResult(Message):
    """Results by topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    __slots__ = ("topic_id", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionResult),
    )

    def __init__(
        self,
        topic_id: UUID = ZERO_UUID,
        partitions: list[PartitionResult] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions


class ReadShareGroupStateResponse(Message):
    """ReadShareGroupStateResponse (response of API 84): versions 0, flexible from 0.

    Attributes:
        results: Results by topic.
    """

    API_KEY: ClassVar[int] = 84
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("results", "[]struct", ReadStateResult),)

    def __init__(
        self,
        results: list[ReadStateResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results
