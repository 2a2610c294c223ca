"""Generated from spec/ProduceRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.splice import Records
from kraft.wire.uuids import ZERO_UUID

__all__ = ["PartitionProduceData", "ProduceRequest", "TopicProduceData"]


class PartitionProduceData(Message):
    """Records per partition. (0+)

    Attributes:
        index: Partition number.
        records: Record batches to append.
    """

    __slots__ = ("index", "records")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("index", "int32"),
        Field("records", "records", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        index: int = 0,
        records: Records = None,
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Message):
    """Records per topic. (0+)

    Attributes:
        name (0-12): Topic name.
        topic_id (13+): Topic id.
        partition_data: Records per partition.
    """

    __slots__ = ("name", "topic_id", "partition_data")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string", versions=(0, 12), ignorable=True),
        Field("topic_id", "uuid", versions=(13, OPEN), ignorable=True),
        Field("partition_data", "[]struct", PartitionProduceData),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
        partition_data: list[PartitionProduceData] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is NEW else partition_data


class ProduceRequest(Message):
    """ProduceRequest (request of API 0): versions 0-13, flexible from 9.

    v3 adds the transactional id and record format 2, v7 allows zstd, v9 is flexible, v12 lets a batch join its
    transaction without AddPartitionsToTxn (KIP-890), v13 names topics by id (KIP-516).

    Attributes:
        transactional_id (3+): Transaction the batches belong to, null outside of one.
        acks: Who must have the records before the answer: 0 nobody (no answer), 1 the leader, -1 all in-sync replicas.
        timeout_ms: Longest wait for the acknowledgements, in milliseconds.
        topic_data: Records per topic.
    """

    API_KEY: ClassVar[int] = 0
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None),
        Field("acks", "int16"),
        Field("timeout_ms", "int32"),
        Field("topic_data", "[]struct", TopicProduceData),
    )

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is NEW else topic_data
