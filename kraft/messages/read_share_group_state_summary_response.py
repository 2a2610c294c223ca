"""Generated from spec/ReadShareGroupStateSummaryResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionResult", "ReadShareGroupStateSummaryResponse", "ReadStateSummaryResult"]


class PartitionResult(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        error_code: Error, or 0.
        error_message: Text of the error, or null.
        state_epoch: How often the state was initialised; a lower one is fenced.
        leader_epoch: Leader epoch of the topic's partition, -1 for a reader that is not its leader.
        start_offset: First offset that the group still has to process, -1 if it is not known.
        delivery_complete_count (1+): Offsets from the start offset on that are acknowledged or archived, -1 if not
            counted (KIP-1226).
    """

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("error_code", "int16"),
        Field("error_message", "string", nullable=(0, OPEN), default=None),
        Field("state_epoch", "int32"),
        Field("leader_epoch", "int32"),
        Field("start_offset", "int64"),
        Field("delivery_complete_count", "int32", versions=(1, OPEN), default=-1, ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count


class ReadStateSummaryResult(Message):
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


class ReadShareGroupStateSummaryResponse(Message):
    """ReadShareGroupStateSummaryResponse (response of API 87): versions 0-1, flexible from 0.

    v1 adds the completed deliveries (KIP-1226).

    Attributes:
        results: Results by topic.
    """

    API_KEY: ClassVar[int] = 87
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("results", "[]struct", ReadStateSummaryResult),)

    def __init__(
        self,
        results: list[ReadStateSummaryResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results
