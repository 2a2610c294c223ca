"""DescribeTransactions and ListTransactions (KIP-664)."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.coordinator.transactions.admin import described, listed, transaction_filter
from kraft.messages.describe_transactions_response import TransactionState
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.transactions.desk import ID, PARTITION, TIMEOUT, TransactionDesk

OTHER = ("other", 3)


def describe(desk: TransactionDesk, transactional_id: str = ID) -> TransactionState:
    return finished(described(desk.core.entries, transactional_id))


def names(desk: TransactionDesk, **filters: Any) -> list[tuple[str, str]]:
    wanted = finished(transaction_filter(ListTransactionsRequest(**filters)))
    found = finished(listed(desk.core.entries, wanted, desk.now))
    return [(each.transactional_id, each.transaction_state) for each in found]


def test_a_transaction_is_described() -> None:
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION, OTHER, ("topic", 2))
    answer = describe(desk)
    assert (answer.error_code, answer.transaction_state) == (ErrorCode.NONE, "Ongoing")
    assert (answer.producer_id, answer.producer_epoch) == producer
    assert (answer.transaction_timeout_ms, answer.transaction_start_time_ms) == (TIMEOUT, int(desk.now * 1000))
    assert [(topic.topic, topic.partitions) for topic in answer.topics] == [("other", [3]), ("topic", [0, 2])]


def test_a_prepared_transaction_has_the_partitions_that_miss_their_marker() -> None:
    """Apache: ``TransactionMetadata.removePartition``. An administrator sees which partition holds the end up."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION, OTHER)
    desk.end(producer)
    desk.write_markers(OTHER)
    answer = describe(desk)
    assert answer.transaction_state == "PrepareCommit"
    assert [(topic.topic, topic.partitions) for topic in answer.topics] == [("topic", [0])]


@pytest.mark.parametrize(
    ("transactional_id", "code"), [("u", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), ("", ErrorCode.INVALID_REQUEST)]
)
def test_an_unknown_id_is_not_described(transactional_id: str, code: ErrorCode) -> None:
    assert describe(TransactionDesk(), transactional_id).error_code == code


def test_transactions_are_listed() -> None:
    desk = TransactionDesk()
    for transactional_id in ("a", "b", "c"):
        producer = desk.producer(transactional_id)
        if transactional_id != "a":
            desk.add(producer, PARTITION, transactional_id=transactional_id)
    assert names(desk) == [("a", "Empty"), ("b", "Ongoing"), ("c", "Ongoing")]
    assert names(desk, state_filters=["Ongoing"]) == [("b", "Ongoing"), ("c", "Ongoing")]
    assert names(desk, producer_id_filters=[producer[0]]) == [("c", "Ongoing")]
    assert names(desk, state_filters=["Empty"], producer_id_filters=[producer[0]]) == []


def test_only_old_transactions_are_listed() -> None:
    """KIP-994: "running longer than" the filter. As in Apache, an id that never had a transaction counts as old."""
    desk = TransactionDesk()
    desk.producer("a")
    desk.add(desk.producer("b"), PARTITION, transactional_id="b")
    desk.now += 1.0
    assert names(desk, duration_filter=0) == [("a", "Empty"), ("b", "Ongoing")]
    assert names(desk, duration_filter=999) == [("a", "Empty"), ("b", "Ongoing")]
    assert names(desk, duration_filter=1000) == [("a", "Empty")]


def test_an_unknown_state_is_reported_and_admits_nothing() -> None:
    """KIP-664: ``UnknownStateFilters``. Names differ by case."""
    desk = TransactionDesk()
    desk.producer()
    wanted = finished(transaction_filter(ListTransactionsRequest(state_filters=["empty", "?"])))
    assert wanted.unknown_states == ("empty", "?")
    assert names(desk, state_filters=["empty"]) == []
