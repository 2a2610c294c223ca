"""Generated from spec/TxnOffsetCommitRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["TxnOffsetCommitRequest", "TxnOffsetCommitRequestPartition", "TxnOffsetCommitRequestTopic"]


class TxnOffsetCommitRequestPartition(Message):
    """Offsets per partition. (0+)

    Attributes:
        partition_index: Partition number.
        committed_offset: Next offset the group will read.
        committed_leader_epoch (2+): Leader epoch of the last record read, -1 if unknown.
        committed_metadata: Client's own note, kept with the offset.
    """

    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("committed_offset", "int64"),
        Field("committed_leader_epoch", "int32", versions=(2, OPEN), default=-1, ignorable=True),
        Field("committed_metadata", "string", nullable=(0, OPEN)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class TxnOffsetCommitRequestTopic(Message):
    """Offsets per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Offsets per partition.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]struct", TxnOffsetCommitRequestPartition),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class TxnOffsetCommitRequest(Message):
    """TxnOffsetCommitRequest (request of API 28): versions 0-5, flexible from 3.

    v2 adds leader epochs, v3 the member's identity (KIP-447), v5 joins the transaction without AddOffsetsToTxn
    (KIP-890).

    Attributes:
        transactional_id: Transactional id.
        group_id: Group whose offsets are stored.
        producer_id: Producer id.
        producer_epoch: Producer epoch.
        generation_id (3+): Generation of the consumer, -1 to skip the check.
        member_id (3+): Member id of the consumer, empty to skip the check.
        group_instance_id (3+): Static member's own name, or null.
        topics: Offsets per topic.
    """

    API_KEY: ClassVar[int] = 28
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string"),
        Field("group_id", "string"),
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("generation_id", "int32", versions=(3, OPEN), default=-1),
        Field("member_id", "string", versions=(3, OPEN)),
        Field("group_instance_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None),
        Field("topics", "[]struct", TxnOffsetCommitRequestTopic),
    )

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is NEW else topics
