"""Generated from spec/AddPartitionsToTxnResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = [
    "AddPartitionsToTxnPartitionResult",
    "AddPartitionsToTxnResponse",
    "AddPartitionsToTxnResult",
    "AddPartitionsToTxnTopicResult",
]


class AddPartitionsToTxnPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        partition_error_code: Error of this partition.
    """

    __slots__ = ("partition_index", "partition_error_code")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("partition_error_code", "int16"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        results_by_partition: Outcome per partition.
    """

    __slots__ = ("name", "results_by_partition")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("results_by_partition", "[]struct", AddPartitionsToTxnPartitionResult),
    )

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is NEW else results_by_partition


class AddPartitionsToTxnResult(Message):
    """Outcome per transaction. (4+)

    Attributes:
        transactional_id (4+): Transactional id.
        topic_results (4+): Outcome per topic.
    """

    __slots__ = ("transactional_id", "topic_results")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string", versions=(4, OPEN)),
        Field("topic_results", "[]struct", AddPartitionsToTxnTopicResult, versions=(4, OPEN)),
    )

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is NEW else topic_results


class AddPartitionsToTxnResponse(Message):
    """AddPartitionsToTxnResponse (response of API 24): versions 0-5, flexible from 3.

    v4 answers per transaction.

    Attributes:
        throttle_time_ms: Time the client was held back by a quota, in milliseconds.
        error_code (4+): Error of the whole request.
        results_by_transaction (4+): Outcome per transaction.
        results_by_topic_v3_and_below (0-3): Outcome per topic of the only transaction.
    """

    API_KEY: ClassVar[int] = 24
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16", versions=(4, OPEN), ignorable=True),
        Field("results_by_transaction", "[]struct", AddPartitionsToTxnResult, versions=(4, OPEN)),
        Field("results_by_topic_v3_and_below", "[]struct", AddPartitionsToTxnTopicResult, versions=(0, 3)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = NEW,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is NEW else results_by_transaction
        self.results_by_topic_v3_and_below = (
            [] if results_by_topic_v3_and_below is NEW else results_by_topic_v3_and_below
        )
