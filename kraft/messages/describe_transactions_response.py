"""Generated from spec/DescribeTransactionsResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["DescribeTransactionsResponse", "TopicData", "TransactionState"]


class TopicData(Message):
    """Partitions in the transaction. (0+)

    Attributes:
        topic: Topic name.
        partitions: Partition numbers.
    """

    __slots__ = ("topic", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string"),
        Field("partitions", "[]int32"),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions


class TransactionState(Message):
    """One entry per transactional id. (0+)

    Attributes:
        error_code: Error of this id.
        transactional_id: Transactional id.
        transaction_state: State name, such as Ongoing or CompleteCommit.
        transaction_timeout_ms: Age at which the transaction is aborted, in milliseconds.
        transaction_start_time_ms: When it began, -1 if none is open.
        producer_id: Producer id.
        producer_epoch: Producer epoch.
        topics: Partitions in the transaction.
    """

    __slots__ = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("transactional_id", "string"),
        Field("transaction_state", "string"),
        Field("transaction_timeout_ms", "int32"),
        Field("transaction_start_time_ms", "int64"),
        Field("producer_id", "int64"),
        Field("producer_epoch", "int16"),
        Field("topics", "[]struct", TopicData),
    )

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is NEW else topics


class DescribeTransactionsResponse(Message):
    """DescribeTransactionsResponse (response of API 65): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        transaction_states: One entry per transactional id.
    """

    API_KEY: ClassVar[int] = 65
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "transaction_states")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("transaction_states", "[]struct", TransactionState),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is NEW else transaction_states
