"""Generated from spec/AssignReplicasToDirsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AssignReplicasToDirsResponse", "DirectoryData", "PartitionData", "TopicData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
    """

    partition_index: int = 0
    error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_id: Id of the topic.
        partitions: The partitions of this topic.
    """

    topic_id: UUID = ZERO_UUID
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_id", "uuid"),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DirectoryData(Message):
    """Outcome, by directory. (0+)

    Attributes:
        id: Id of the log directory.
        topics: One entry per topic.
    """

    id: UUID = ZERO_UUID
    topics: list[TopicData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "uuid"),
        Field("topics", "[]struct", TopicData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AssignReplicasToDirsResponse(Message):
    """AssignReplicasToDirsResponse (response of API 73): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        directories: Outcome, by directory.
    """

    API_KEY: ClassVar[int] = 73
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    directories: list[DirectoryData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("directories", "[]struct", DirectoryData),
    )
