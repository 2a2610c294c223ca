"""Generated from spec/InitializeShareGroupStateRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["InitializeShareGroupStateRequest", "InitializeStateData", "PartitionData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """Partitions of the topic. (0+)

    Attributes:
        partition: Partition number.
        state_epoch: How often the state was initialised; a lower one is fenced.
        start_offset: First offset that the group still has to process, -1 if it is not known.
    """

    partition: int = 0
    state_epoch: int = 0
    start_offset: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition", "int32"),
        Field("state_epoch", "int32"),
        Field("start_offset", "int64"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class InitializeStateData(Message):
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
class InitializeShareGroupStateRequest(Message):
    """InitializeShareGroupStateRequest (request of API 83): versions 0, flexible from 0.

    Attributes:
        group_id: Share group.
        topics: Topics of the share partitions.
    """

    API_KEY: ClassVar[int] = 83
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_id: str = ""
    topics: list[InitializeStateData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", InitializeStateData),
    )
