"""The coordinator of transactions: the way of a transaction from its producer to its last marker."""

from __future__ import annotations

from kraft.coordinator.transactions.core import MarkersWritten
from kraft.coordinator.transactions.transaction import TransactionStatus
from kraft.wire.errors import ErrorCode
from tests.coordinator.transactions.desk import FIRST_PRODUCER_ID, PARTITION, TransactionDesk, end_request

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
