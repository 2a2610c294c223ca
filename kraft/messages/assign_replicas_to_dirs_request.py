"""Generated from spec/AssignReplicasToDirsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["AssignReplicasToDirsRequest", "DirectoryData", "PartitionData", "TopicData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
    """

    partition_index: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("partition_index", "int32"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicData(Message):
    """What the directory holds, by topic. (0+)

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
    """Where replicas are placed, by directory. (0+)

    Attributes:
        id: Id of the log directory.
        topics: What the directory holds, by topic.
    """

    id: UUID = ZERO_UUID
    topics: list[TopicData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("id", "uuid"),
        Field("topics", "[]struct", TopicData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AssignReplicasToDirsRequest(Message):
    """AssignReplicasToDirsRequest (request of API 73): versions 0, flexible from 0.

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
        directories: Where replicas are placed, by directory.
    """

    API_KEY: ClassVar[int] = 73
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    broker_id: int = 0
    broker_epoch: int = -1
    directories: list[DirectoryData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
        Field("directories", "[]struct", DirectoryData),
    )
