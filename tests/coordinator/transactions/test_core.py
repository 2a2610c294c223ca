"""The coordinator of transactions: the way of a transaction from its producer to its last marker."""

from __future__ import annotations

import pytest

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.transactions.core import ExpireTransactionalIds, MarkersWritten
from kraft.coordinator.transactions.records import transaction_key
from kraft.coordinator.transactions.transaction import TransactionStatus
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.transactions.desk import (
    FIRST_PRODUCER_ID,
    ID,
    PARTITION,
    TransactionDesk,
    add_request,
    end_request,
)

WEEK_S = 7 * 24 * 3600
OTHER = ("topic", 1)


def test_a_transaction_commits() -> None:
    """KIP-98: InitProducerId, AddPartitionsToTxn, EndTxn, then a marker for each partition, then CompleteCommit."""
    desk = TransactionDesk()
    producer = desk.producer()
    assert producer == (FIRST_PRODUCER_ID, 0)
    assert desk.add(producer, PARTITION, OTHER) == {PARTITION: ErrorCode.NONE, OTHER: ErrorCode.NONE}
    assert desk.state().status is TransactionStatus.ONGOING
    assert desk.end(producer).error_code == ErrorCode.NONE
    assert desk.state().status is TransactionStatus.PREPARE_COMMIT
    [markers] = desk.markers
    assert (markers.producer_id, markers.epoch, markers.coordinator_epoch) == (*producer, 5)
    assert markers.committed
    assert markers.partitions == (PARTITION, OTHER)
    desk.write_markers(OTHER)
    assert desk.state().status is TransactionStatus.PREPARE_COMMIT
    desk.write_markers(PARTITION)
    assert desk.state().status is TransactionStatus.COMPLETE_COMMIT
    assert desk.state().partitions == frozenset()


def test_the_outcome_is_replied_once_it_is_committed_and_no_marker_is_sent_before() -> None:
    """A marker of an outcome that the next coordinator does not know could contradict its outcome."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.is_followed = False
    answered = len(desk.answers)
    desk.send(end_request(producer), 3)
    assert (len(desk.answers), desk.markers) == (answered, [])
    desk.commit_all()
    assert len(desk.answers) == answered + 1
    assert len(desk.markers) == 1


def test_a_late_report_of_an_earlier_transaction_completes_nothing() -> None:
    """Below transaction.version 2, consecutive transactions have one producer id and epoch. If a repeated report of the
    first one counted for the second, the second one's marker would be missing, and its partition would hang.
    """
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.end(producer)
    [first] = desk.markers
    desk.write_markers()
    desk.add(producer, PARTITION)
    desk.end(producer)
    desk.step(MarkersWritten(first, first.partitions))
    assert desk.state().status is TransactionStatus.PREPARE_COMMIT


def test_the_next_coordinator_sends_the_markers_again() -> None:
    """Apache: TransactionStateManager.loadTransactionsForTxnTopicPartition completes PrepareCommit and PrepareAbort."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION, OTHER)
    desk.end(producer, committed=False)
    desk.write_markers(OTHER)
    desk.reload()
    [markers] = desk.markers
    assert (markers.committed, markers.partitions, markers.coordinator_epoch) == (False, (PARTITION, OTHER), 6)
    desk.write_markers()
    assert desk.state().status is TransactionStatus.COMPLETE_ABORT


def test_a_transaction_times_out() -> None:
    """KIP-98: "If no EndTxn arrives within transaction.timeout.ms, the coordinator aborts", with the next epoch."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.pass_time(59)
    assert desk.state().status is TransactionStatus.ONGOING
    desk.pass_time(11)
    assert desk.state().status is TransactionStatus.PREPARE_ABORT
    [markers] = desk.markers
    assert (markers.committed, markers.epoch) == (False, 1)
    desk.write_markers()
    assert desk.end(producer).error_code == ErrorCode.PRODUCER_FENCED


def test_a_timeout_waits_for_the_record_that_is_pending() -> None:
    """Apache: ``abortTimedOutTransactions`` skips a transaction with a pending state, and looks again later."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.is_followed = False
    desk.send(add_request(producer, OTHER), 3)
    desk.pass_time(100)
    assert len(desk.uncommitted) == 1
    desk.is_followed = True
    desk.commit_all()
    desk.pass_time(10)
    assert desk.markers[0].partitions == (PARTITION, OTHER)


def test_a_timeout_waits_until_records_can_be_written() -> None:
    desk = TransactionDesk()
    desk.add(desk.producer(), PARTITION)
    desk.may_write = False
    desk.pass_time(100)
    assert desk.state().status is TransactionStatus.ONGOING
    desk.may_write = True
    desk.pass_time(10)
    assert desk.state().status is TransactionStatus.PREPARE_ABORT


def test_a_later_transaction_has_its_own_timeout() -> None:
    """The timer of the first transaction is still there, and must not abort the second."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.commit(producer, PARTITION)
    desk.pass_time(50)
    desk.add(producer, PARTITION)
    desk.pass_time(50)
    assert desk.state().status is TransactionStatus.ONGOING
    desk.pass_time(20)
    assert desk.state().status is TransactionStatus.PREPARE_ABORT


def test_a_loaded_transaction_times_out() -> None:
    desk = TransactionDesk()
    desk.add(desk.producer(), PARTITION)
    desk.pass_time(30)
    desk.reload()
    desk.pass_time(29)
    assert desk.state().status is TransactionStatus.ONGOING
    desk.pass_time(11)
    assert desk.state().status is TransactionStatus.PREPARE_ABORT


def test_a_loaded_outcome_without_partitions_is_completed() -> None:
    """Apache appends the two records of such an end one by one, and may stop between them."""
    desk = TransactionDesk(transaction_version=2)
    producer = desk.producer()
    assert desk.end(producer, committed=False, version=5).error_code == ErrorCode.NONE
    desk.written.pop()
    desk.reload()
    assert desk.state().status is TransactionStatus.PREPARE_ABORT
    desk.pass_time(0)
    assert desk.state().status is TransactionStatus.COMPLETE_ABORT


def test_an_end_with_too_few_replicas_in_sync_is_still_appended() -> None:
    """The markers are written, and no request repeats the event. If the record is lost, the markers are sent again."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.end(producer)
    desk.may_write = False
    desk.write_markers()
    assert desk.state().status is TransactionStatus.COMPLETE_COMMIT


def test_the_next_coordinator_does_not_know_what_was_not_committed() -> None:
    """The appended outcome is lost with the leader. Its client had no response, and its partitions no marker."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.is_followed = False
    token = desk.send(end_request(producer), 3)
    desk.reload()
    desk.is_followed = True
    assert token not in desk.answers
    assert desk.markers == []
    assert desk.end(producer, committed=False).error_code == ErrorCode.NONE
    assert not desk.markers[0].committed


def test_a_report_to_a_coordinator_that_was_replaced_has_no_effect() -> None:
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.end(producer)
    [markers] = desk.markers
    desk.reload()
    desk.step(MarkersWritten(markers, markers.partitions))
    assert desk.state().status is TransactionStatus.PREPARE_COMMIT


# Expiry.


def test_an_unused_id_expires() -> None:
    """``transactional.id.expiration.ms``: seven days after the last record."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.commit(producer, PARTITION)
    desk.pass_time(WEEK_S - 1)
    desk.step(ExpireTransactionalIds())
    assert ID in desk.core.entries
    desk.pass_time(1)
    desk.step(ExpireTransactionalIds())
    assert ID not in desk.core.entries
    assert desk.written[-1][:2] == (transaction_key(ID), None)
    assert desk.add(producer, PARTITION) == {PARTITION: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    desk.reload()
    assert desk.core.entries == {}


@pytest.mark.parametrize("committed", [None, True, False])
def test_an_id_with_a_transaction_does_not_expire(committed: bool | None) -> None:
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    if committed is not None:
        desk.end(producer, committed=committed)
    desk.now += WEEK_S
    desk.step(ExpireTransactionalIds())
    assert ID in desk.core.entries


def test_an_id_is_not_used_while_its_tombstone_is_not_committed() -> None:
    """The tombstone would delete the producer that a request between them got."""
    desk = TransactionDesk()
    desk.producer()
    desk.now += WEEK_S
    desk.is_followed = False
    desk.step(ExpireTransactionalIds())
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    desk.step(ExpireTransactionalIds())
    assert len(desk.uncommitted) == 1
    desk.commit_all()
    desk.is_followed = True
    assert desk.init().error_code == ErrorCode.NONE


def test_tombstones_fill_batches() -> None:
    """Apache: ``removeExpiredTransactionalIds`` fills batches of ``max.message.bytes``."""
    desk = TransactionDesk()
    for number in range(100):
        desk.producer(f"id{number}")
    desk.now += WEEK_S
    desk.max_batch_bytes = 1000
    steps = 0
    before = -1
    while before != len(desk.written):
        before = len(desk.written)
        desk.step(ExpireTransactionalIds())
        steps += 1
    assert desk.core.entries == {}
    assert steps > 3


def test_nothing_expires_with_too_few_replicas_in_sync() -> None:
    desk = TransactionDesk()
    desk.producer()
    desk.now += WEEK_S
    desk.may_write = False
    desk.step(ExpireTransactionalIds())
    assert ID in desk.core.entries


# Costs.


def test_large_requests_are_decided_in_steps() -> None:
    """No step of the event loop may take long (docs/architecture.md). A request may name 100,000 partitions."""
    desk = TransactionDesk()
    producer = desk.producer()
    request_message = add_request(producer, PARTITION)
    request_message.topics[0].partitions = list(range(20_000))
    request = CoordinatorRequest(1, request_message, 3)
    costs = list(desk.core.in_steps(desk.now, request, desk.core.new_effects()))
    assert max(costs) <= 100
    assert sum(costs) >= 20_000


def test_unloading_frees_all_transactions() -> None:
    desk = TransactionDesk()
    desk.producer()
    finished(desk.core.unload())
    assert desk.core.entries == {}
    assert desk.core.waiting() == []
