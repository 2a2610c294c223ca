"""Generated from spec/TransactionLogValue.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["PartitionsSchema", "TransactionLogValue"]


class PartitionsSchema(Message):
    """Partitions in the transaction, null if it is empty. (0+)

    Attributes:
        topic: Topic name.
        partition_ids: Partition numbers.
    """

    __slots__ = ("topic", "partition_ids")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partition_ids", "[]int32"),
    )

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is NEW else partition_ids


class TransactionLogValue(Message):
    """TransactionLogValue (data): versions 0-1, flexible from 1.

    v1 is flexible; its tags came with KIP-890.

    Attributes:
        producer_id: Producer id of the current transaction.
        previous_producer_id (1+): Producer id of the transaction before, -1 if there was none.
        next_producer_id (1+): Producer id of the transaction after, set while the old one's epochs run out.
        producer_epoch: Producer epoch of the current transaction.
        next_producer_epoch (1+): Producer epoch of the transaction after, -1 if not chosen.
        transaction_timeout_ms: Age at which the transaction is aborted, in milliseconds.
        transaction_status: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort,
            6 dead, 7 prepare epoch fence.
        transaction_partitions: Partitions in the transaction, null if it is empty.
        transaction_last_update_timestamp_ms: Last change, in milliseconds.
        transaction_start_timestamp_ms: When the transaction began, in milliseconds; -1 if none is open.
        client_transaction_version (1+): Transaction protocol the client follows, as its transaction.version.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("producer_id", "int64"),
        Field("previous_producer_id", "int64", versions=(1, OPEN), tag=0, tagged=(1, OPEN), default=-1),
        Field("next_producer_id", "int64", versions=(1, OPEN), tag=1, tagged=(1, OPEN), default=-1),
        Field("producer_epoch", "int16"),
        Field("next_producer_epoch", "int16", versions=(1, OPEN), tag=3, tagged=(1, OPEN), default=-1),
        Field("transaction_timeout_ms", "int32"),
        Field("transaction_status", "int8"),
        Field("transaction_partitions", "[]struct", PartitionsSchema, nullable=(0, OPEN)),
        Field("transaction_last_update_timestamp_ms", "int64"),
        Field("transaction_start_timestamp_ms", "int64"),
        Field("client_transaction_version", "int16", versions=(1, OPEN), tag=2, tagged=(1, OPEN)),
    )

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = NEW,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is NEW else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
