"""Generated from spec/AddPartitionsToTxnRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["AddPartitionsToTxnRequest", "AddPartitionsToTxnTopic", "AddPartitionsToTxnTransaction"]


class AddPartitionsToTxnTopic(Message):
    """Partitions per topic. (0+)

    Attributes:
        name: Topic name.
        partitions: Partition numbers.
    """

    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions


class AddPartitionsToTxnTransaction(Message):
    """Transactions to extend or verify. (4+)

    Attributes:
        transactional_id (4+): Transactional id.
        producer_id (4+): Producer id.
        producer_epoch (4+): Producer epoch.
        verify_only (4+): Only check that the partitions are already in.
        topics (4+): Partitions per topic.
    """

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string", versions=(4, OPEN)),
        Field("producer_id", "int64", versions=(4, OPEN)),
        Field("producer_epoch", "int16", versions=(4, OPEN)),
        Field("verify_only", "bool", versions=(4, OPEN)),
        Field("topics", "[]struct", AddPartitionsToTxnTopic, versions=(4, OPEN)),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is NEW else topics


class AddPartitionsToTxnRequest(Message):
    """AddPartitionsToTxnRequest (request of API 24): versions 0-5, flexible from 3.

    v0-v3 come from producers, one transaction each; v4 on come from brokers, many at once and also to verify only
    (KIP-890); v5 may be answered with TRANSACTION_ABORTABLE.

    Attributes:
        transactions (4+): Transactions to extend or verify.
        v3_and_below_transactional_id (0-3): Transactional id.
        v3_and_below_producer_id (0-3): Producer id.
        v3_and_below_producer_epoch (0-3): Producer epoch.
        v3_and_below_topics (0-3): Partitions per topic.
    """

    API_KEY: ClassVar[int] = 24
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactions", "[]struct", AddPartitionsToTxnTransaction, versions=(4, OPEN)),
        Field("v3_and_below_transactional_id", "string", versions=(0, 3)),
        Field("v3_and_below_producer_id", "int64", versions=(0, 3)),
        Field("v3_and_below_producer_epoch", "int16", versions=(0, 3)),
        Field("v3_and_below_topics", "[]struct", AddPartitionsToTxnTopic, versions=(0, 3)),
    )

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = NEW,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = NEW,
    ) -> None:
        self.transactions = [] if transactions is NEW else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is NEW else v3_and_below_topics
