"""Generated from spec/ReadShareGroupStateRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionData", "ReadShareGroupStateRequest", "ReadStateData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        leader_epoch: Leader epoch of the topic's partition, -1 for a reader that is not its leader.
    """

    partition: int = 0
    leader_epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("leader_epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReadStateData(Message):
    """Topics of the share partitions. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: Partitions of the topic.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReadShareGroupStateRequest(Message):
    """ReadShareGroupStateRequest (request of API 84): versions 0, flexible from 0.

    Attributes:
        group_id: Share group.
        topics: Topics of the share partitions.
    """

    API_KEY: ClassVar[int] = 84
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_id: str = ""
    topics: list[ReadStateData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", ReadStateData),
    )
