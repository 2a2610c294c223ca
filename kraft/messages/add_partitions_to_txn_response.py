"""Generated from spec/AddPartitionsToTxnResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = [
    "AddPartitionsToTxnPartitionResult",
    "AddPartitionsToTxnResponse",
    "AddPartitionsToTxnResult",
    "AddPartitionsToTxnTopicResult",
]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AddPartitionsToTxnPartitionResult(Message):
    """Outcome per partition. (0+)

    Attributes:
        partition_index: Partition number.
        partition_error_code: Error of this partition.
    """

    partition_index: int = 0
    partition_error_code: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("partition_error_code", "int16"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AddPartitionsToTxnTopicResult(Message):
    """Outcome per topic. (0+)

    Attributes:
        name: Topic name.
        results_by_partition: Outcome per partition.
    """

    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("results_by_partition", "[]struct", AddPartitionsToTxnPartitionResult),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AddPartitionsToTxnResult(Message):
    """Outcome per transaction. (4+)

    Attributes:
        transactional_id (4+): Transactional id.
        topic_results (4+): Outcome per topic.
    """

    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("transactional_id", "string", versions=(4, OPEN)),
        Field("topic_results", "[]struct", AddPartitionsToTxnTopicResult, versions=(4, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = attrs.Factory(list)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16", versions=(4, OPEN), ignorable=True),
        Field("results_by_transaction", "[]struct", AddPartitionsToTxnResult, versions=(4, OPEN)),
        Field("results_by_topic_v3_and_below", "[]struct", AddPartitionsToTxnTopicResult, versions=(0, 3)),
    )
