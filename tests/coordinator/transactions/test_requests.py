"""InitProducerId, AddPartitionsToTxn and EndTxn: epochs, retries, and the error codes of Apache Kafka 4.3."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.coordinator.transactions.transaction import LAST_EPOCH, TransactionStatus
from kraft.wire.errors import ErrorCode
from tests.coordinator.transactions.desk import (
    FIRST_PRODUCER_ID,
    ID,
    PARTITION,
    TransactionDesk,
    add_request,
    end_request,
    init_request,
)

OTHER = ("topic", 1)
NEXT_PRODUCER_ID = FIRST_PRODUCER_ID + 1


def became(desk: TransactionDesk, **changes: Any) -> None:
    """Change the state of the transactional id, as if many transactions had been."""
    entry = desk.core.entries[ID]
    entry.transaction = attrs.evolve(entry.transaction, **changes)


def prepared(desk: TransactionDesk, *, committed: bool = True, version: int = 3) -> tuple[int, int]:
    """Leave a transaction in PrepareCommit or PrepareAbort, and return its producer."""
    producer = desk.producer()
    desk.add(producer, PARTITION)
    assert desk.end(producer, committed=committed, version=version).error_code == ErrorCode.NONE
    return producer


# InitProducerId.


def test_a_new_producer_fences_the_one_before() -> None:
    """KIP-98: "InitProducerId ... bumps up the epoch of the PID, so that any previous zombie is fenced off"."""
    desk = TransactionDesk()
    old, new = desk.producer(), desk.producer()
    assert new == (old[0], old[1] + 1)
    assert desk.add(old, PARTITION) == {PARTITION: ErrorCode.PRODUCER_FENCED}
    assert desk.end(old).error_code == ErrorCode.PRODUCER_FENCED
    assert desk.init(old).error_code == ErrorCode.PRODUCER_FENCED


def test_a_producer_bumps_its_own_epoch_and_may_repeat_it() -> None:
    """KIP-360: a request with the last epoch is a retry, and returns the current one without another bump."""
    desk = TransactionDesk()
    producer = desk.producer()
    for _ in range(2):
        response = desk.init(producer)
        assert (response.error_code, response.producer_id, response.producer_epoch) == (0, producer[0], 1)


def test_a_retry_after_another_producer_began_is_fenced() -> None:
    """KIP-360: a new producer removes the last epoch."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.init(producer)
    desk.producer()
    assert desk.init(producer).error_code == ErrorCode.PRODUCER_FENCED


def test_a_producer_of_an_expired_id_gets_a_new_one() -> None:
    """Apache: ``isValidProducerId`` accepts any producer if the transactional id was just created."""
    response = TransactionDesk().init((77, 3))
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, FIRST_PRODUCER_ID, 0)


def test_another_producer_id_is_fenced() -> None:
    desk = TransactionDesk()
    desk.producer()
    assert desk.init((77, 0)).error_code == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)])
def test_old_clients_do_not_know_that_they_are_fenced(version: int, code: ErrorCode) -> None:
    """KIP-588: PRODUCER_FENCED from version 4 of InitProducerId on."""
    desk = TransactionDesk()
    desk.producer()
    assert desk.init((77, 0), version=version).error_code == code


@pytest.mark.parametrize("producer", [(5, -1), (-1, 5)])
def test_a_producer_id_without_epoch_is_invalid(producer: tuple[int, int]) -> None:
    """Apache: ``KafkaApis.handleInitProducerIdRequest``."""
    response = TransactionDesk().init(producer)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)


def test_an_empty_transactional_id_is_invalid() -> None:
    desk = TransactionDesk()
    assert desk.init(transactional_id="").error_code == ErrorCode.INVALID_REQUEST
    assert desk.add((1, 0), PARTITION, transactional_id="") == {PARTITION: ErrorCode.INVALID_REQUEST}
    assert desk.end((1, 0), transactional_id="").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("timeout", "is_valid"), [(-1, False), (0, False), (1, True), (900_000, True), (900_001, False)]
)
def test_the_timeout_is_limited(timeout: int, is_valid: bool) -> None:
    """``transaction.max.timeout.ms``. Apache: ``validateTransactionTimeoutMs`` admits no timeout below 1 ms."""
    code = TransactionDesk().init(timeout=timeout).error_code
    assert code == (ErrorCode.NONE if is_valid else ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def test_an_open_transaction_is_aborted_before_a_new_producer_begins() -> None:
    """Apache: the response is CONCURRENT_TRANSACTIONS until the abort is complete, and the epoch is bumped twice."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    [markers] = desk.markers
    assert (markers.committed, markers.epoch) == (False, 1)
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    desk.write_markers()
    assert desk.producer() == (producer[0], 2)


@pytest.mark.parametrize("committed", [True, False])
def test_a_new_producer_waits_for_the_markers(committed: bool) -> None:
    desk = TransactionDesk()
    prepared(desk, committed=committed)
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    desk.write_markers()
    assert desk.init().error_code == ErrorCode.NONE


def test_after_the_last_epoch_comes_a_new_producer_id() -> None:
    """KIP-360. The old producer may repeat its request, because it may miss the response with its new id."""
    desk = TransactionDesk()
    old = (desk.producer()[0], LAST_EPOCH)
    became(desk, epoch=LAST_EPOCH)
    for _ in range(2):
        response = desk.init(old)
        assert (response.error_code, response.producer_id, response.producer_epoch) == (0, NEXT_PRODUCER_ID, 0)
        became(desk, previous_producer_id=old[0])
    desk.producer()
    assert desk.init(old).error_code == ErrorCode.PRODUCER_FENCED


def test_fencing_uses_the_epoch_after_the_last_one() -> None:
    """Even the last epoch's producer can be fenced, and its request with that epoch does not bump beyond int16."""
    desk = TransactionDesk()
    old = (desk.producer()[0], LAST_EPOCH)
    became(desk, epoch=LAST_EPOCH)
    desk.add(old, PARTITION)
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.markers[0].epoch == LAST_EPOCH + 1
    desk.write_markers()
    assert desk.init(old).error_code == ErrorCode.PRODUCER_FENCED
    assert desk.producer() == (NEXT_PRODUCER_ID, 0)


def test_the_reserved_epoch_belongs_to_no_producer() -> None:
    """The coordinator keeps Short.MAX_VALUE to fence the last producer. A client that sends it could not be fenced."""
    desk = TransactionDesk(transaction_version=2)
    forged = (desk.producer()[0], LAST_EPOCH + 1)
    became(desk, epoch=LAST_EPOCH + 1)
    assert desk.add(forged, PARTITION) == {PARTITION: ErrorCode.PRODUCER_FENCED}
    assert desk.end(forged, committed=False, version=5).error_code == ErrorCode.PRODUCER_FENCED
    assert desk.producer() == (NEXT_PRODUCER_ID, 0)


@pytest.mark.parametrize("transaction_version", [0, 2])
def test_a_loaded_transaction_with_the_reserved_epoch_is_aborted_with_it(transaction_version: int) -> None:
    """Apache 4.3: ``prepareAbortOrCommit`` keeps Short.MAX_VALUE in an abort, so that the transaction does not hang."""
    desk = TransactionDesk(transaction_version=transaction_version)
    desk.add(desk.producer(), PARTITION)
    became(desk, epoch=LAST_EPOCH + 1)
    desk.pass_time(70)
    assert (desk.markers[0].committed, desk.markers[0].epoch) == (False, LAST_EPOCH + 1)


def test_without_a_producer_id_the_client_retries() -> None:
    """Apache: ``RPCProducerIdManager`` returns COORDINATOR_LOAD_IN_PROGRESS until the controller allocates a block."""
    desk = TransactionDesk()
    desk.has_producer_ids = False
    assert desk.init().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    desk.has_producer_ids = True
    assert desk.init().error_code == ErrorCode.NONE


# AddPartitionsToTxn.


def test_the_first_partition_begins_the_transaction_and_others_extend_it() -> None:
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    began_ms = desk.state().started_ms
    desk.pass_time(5)
    desk.add(producer, OTHER)
    assert desk.state().partitions == {PARTITION, OTHER}
    assert (desk.state().started_ms, desk.state().updated_ms) == (began_ms, began_ms + 5000)


def test_a_partition_that_is_in_the_transaction_needs_no_record() -> None:
    """Apache: "if the partitions are already in the metadata reply OK immediately"."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION, OTHER)
    written = len(desk.written)
    assert desk.add(producer, OTHER) == {OTHER: ErrorCode.NONE}
    assert len(desk.written) == written


def test_another_producer_adds_no_partition() -> None:
    desk = TransactionDesk()
    assert desk.add((FIRST_PRODUCER_ID, 0), PARTITION) == {PARTITION: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    producer_id, epoch = desk.producer()
    assert desk.add((producer_id + 1, epoch), PARTITION) == {PARTITION: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    for wrong in (epoch - 1, epoch + 1):
        assert desk.add((producer_id, wrong), PARTITION) == {PARTITION: ErrorCode.PRODUCER_FENCED}
    assert desk.add((producer_id, epoch + 1), PARTITION, version=1) == {PARTITION: ErrorCode.INVALID_PRODUCER_EPOCH}


@pytest.mark.parametrize("committed", [True, False])
def test_no_partition_is_added_between_the_outcome_and_the_last_marker(committed: bool) -> None:
    desk = TransactionDesk()
    producer = prepared(desk, committed=committed)
    assert desk.add(producer, PARTITION) == {PARTITION: ErrorCode.CONCURRENT_TRANSACTIONS}
    desk.write_markers()
    assert desk.add(producer, PARTITION) == {PARTITION: ErrorCode.NONE}


def test_brokers_verify_partitions() -> None:
    """KIP-890: a write is refused unless its partition is in the open transaction. Nothing is added."""
    desk = TransactionDesk()
    producer = desk.producer()
    verify: dict[str, Any] = {"verify_only": True, "version": 5}
    assert desk.add(producer, PARTITION, **verify) == {PARTITION: ErrorCode.TRANSACTION_ABORTABLE}
    desk.add(producer, PARTITION)
    assert desk.add(producer, PARTITION, OTHER, **verify) == {
        PARTITION: ErrorCode.NONE,
        OTHER: ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert desk.add((producer[0], 9), PARTITION, **verify) == {PARTITION: ErrorCode.PRODUCER_FENCED}
    assert desk.add((9, 0), PARTITION, **verify) == {PARTITION: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert desk.add(producer, PARTITION, transactional_id="u", **verify) == {
        PARTITION: ErrorCode.INVALID_PRODUCER_ID_MAPPING
    }
    desk.end(producer)
    assert desk.add(producer, PARTITION, **verify) == {PARTITION: ErrorCode.CONCURRENT_TRANSACTIONS}
    desk.write_markers()
    assert desk.add(producer, PARTITION, **verify) == {PARTITION: ErrorCode.TRANSACTION_ABORTABLE}
    assert desk.state().partitions == frozenset()


def test_a_partition_is_verified_while_another_is_added() -> None:
    """Apache: "Pending state is not checked since there is a final validation on the append to the log"."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.is_followed = False
    desk.send(add_request(producer, OTHER), 3)
    assert desk.add(producer, PARTITION, OTHER, verify_only=True, version=5) == {
        PARTITION: ErrorCode.NONE,
        OTHER: ErrorCode.TRANSACTION_ABORTABLE,
    }


@pytest.mark.parametrize(("version", "client_version"), [(3, 0), (4, 2)])
def test_brokers_add_partitions_for_producers_of_transaction_version_2(version: int, client_version: int) -> None:
    """Apache: ``TransactionVersion.transactionVersionForAddPartitionsToTxn``."""
    desk = TransactionDesk(transaction_version=2)
    desk.add(desk.producer(), PARTITION, version=version)
    assert desk.state().client_version == client_version


def test_a_record_that_is_too_large_is_refused_and_the_transaction_can_still_end() -> None:
    """Apache: ``appendTransactionToLog`` makes UNKNOWN_SERVER_ERROR of MESSAGE_TOO_LARGE. A transaction whose Ongoing
    record just fits could not end, because its Prepare record has more fields.
    """
    desk = TransactionDesk(transaction_version=2)
    desk.max_batch_bytes = 600
    producer = desk.producer()
    refused = next(
        partition
        for partition in (("topic", index) for index in range(1000))
        if desk.add(producer, partition)[partition] == ErrorCode.UNKNOWN_SERVER_ERROR
    )
    assert refused not in desk.state().partitions
    became(desk, epoch=LAST_EPOCH)
    assert desk.end((producer[0], LAST_EPOCH), version=5).error_code == ErrorCode.NONE


# EndTxn.


@pytest.mark.parametrize("committed", [True, False])
def test_a_client_may_repeat_the_end(committed: bool) -> None:
    """KIP-98. Until the markers are written the response is CONCURRENT_TRANSACTIONS, then NONE."""
    desk = TransactionDesk()
    producer = prepared(desk, committed=committed)
    assert desk.end(producer, committed=committed).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.end(producer, committed=not committed).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    desk.write_markers()
    assert desk.end(producer, committed=committed).error_code == ErrorCode.NONE
    assert desk.end(producer, committed=not committed).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_that_did_not_begin_does_not_end(committed: bool) -> None:
    desk = TransactionDesk()
    assert desk.end((FIRST_PRODUCER_ID, 0), committed=committed).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert desk.end(desk.producer(), committed=committed).error_code == ErrorCode.INVALID_TXN_STATE


def test_another_producer_does_not_end_the_transaction() -> None:
    desk = TransactionDesk()
    producer_id, epoch = desk.producer()
    desk.add((producer_id, epoch), PARTITION)
    assert desk.end((producer_id + 1, epoch)).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for wrong in (epoch - 1, epoch + 1):
        assert desk.end((producer_id, wrong)).error_code == ErrorCode.PRODUCER_FENCED
        assert desk.end((producer_id, wrong), version=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert desk.state().status is TransactionStatus.ONGOING


def test_a_transaction_without_partitions_is_complete_at_once() -> None:
    """AddPartitionsToTxn without partitions begins a transaction. There are no markers to wait for."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer)
    assert desk.end(producer).error_code == ErrorCode.NONE
    assert desk.markers == []
    assert desk.state().status is TransactionStatus.COMPLETE_COMMIT


def test_below_version_5_the_epoch_stays() -> None:
    desk = TransactionDesk(transaction_version=2)
    producer = prepared(desk)
    assert (desk.markers[0].producer_id, desk.markers[0].epoch) == producer
    desk.write_markers()
    desk.commit(producer, PARTITION)


# EndTxn with KIP-890's epochs. The table is the one of Apache's TransactionCoordinator.


def ended(desk: TransactionDesk, producer: tuple[int, int], *, committed: bool) -> tuple[int, int, int]:
    response = desk.end(producer, committed=committed, version=5)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_returns_the_next_epoch(committed: bool) -> None:
    """KIP-890: "bump the epoch on every transaction", so that a late write or EndTxn cannot belong to the next one."""
    desk = TransactionDesk(transaction_version=2)
    producer_id, epoch = desk.producer()
    desk.add((producer_id, epoch), PARTITION)
    assert ended(desk, (producer_id, epoch), committed=committed) == (0, producer_id, epoch + 1)
    assert desk.markers[0].epoch == epoch + 1
    # A retry, before and after the markers. The producer may also abort its next transaction before they are written.
    waits = (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
    for outcome in (committed, not committed):
        assert ended(desk, (producer_id, epoch), committed=outcome) == waits
        assert ended(desk, (producer_id, epoch + 1), committed=outcome) == waits
    desk.write_markers()
    assert ended(desk, (producer_id, epoch), committed=committed) == (0, producer_id, epoch + 1)
    assert ended(desk, (producer_id, epoch), committed=not committed) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert ended(desk, (producer_id, epoch - 1), committed=committed) == (ErrorCode.PRODUCER_FENCED, -1, -1)
    # The next transaction has no partition yet.
    assert ended(desk, (producer_id, epoch + 1), committed=True) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert ended(desk, (producer_id, epoch + 1), committed=False) == (0, producer_id, epoch + 2)
    assert desk.state().status is TransactionStatus.COMPLETE_ABORT
    assert desk.markers == []


def test_an_empty_transaction_is_aborted_but_not_committed() -> None:
    """KIP-890: a producer that lost the response of its Produce cannot know whether the transaction began."""
    desk = TransactionDesk(transaction_version=2)
    producer_id, epoch = desk.producer()
    assert ended(desk, (producer_id, epoch), committed=True) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert ended(desk, (producer_id, epoch - 1), committed=False) == (ErrorCode.PRODUCER_FENCED, -1, -1)
    assert ended(desk, (producer_id, epoch), committed=False) == (0, producer_id, epoch + 1)
    assert desk.state().status is TransactionStatus.COMPLETE_ABORT
    assert desk.state().started_ms == desk.state().updated_ms


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_with_the_last_epoch_returns_a_new_producer_id(committed: bool) -> None:
    """KIP-890: the markers have the old producer id with the reserved epoch, the next transaction a new producer id."""
    desk = TransactionDesk(transaction_version=2)
    old = (desk.producer()[0], LAST_EPOCH)
    became(desk, epoch=LAST_EPOCH)
    desk.add(old, PARTITION)
    assert ended(desk, old, committed=committed) == (0, NEXT_PRODUCER_ID, 0)
    [markers] = desk.markers
    assert (markers.producer_id, markers.epoch) == (old[0], LAST_EPOCH + 1)
    for reload in (lambda: None, desk.reload):
        reload()  # the next producer id is in the record
        assert ended(desk, old, committed=committed) == (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
        # Apache, in handleAddPartitionsToTransaction: the producer may use the id that is still pending.
        new = (NEXT_PRODUCER_ID, 0)
        assert desk.add(new, PARTITION) == {PARTITION: ErrorCode.CONCURRENT_TRANSACTIONS}
        assert ended(desk, new, committed=False) == (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
        assert desk.init(new).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    desk.write_markers()
    assert ended(desk, old, committed=committed) == (0, NEXT_PRODUCER_ID, 0)
    assert ended(desk, old, committed=not committed) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert desk.add((NEXT_PRODUCER_ID, 0), PARTITION) == {PARTITION: ErrorCode.NONE}
    assert ended(desk, old, committed=committed) == (ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1, -1)


def test_fencing_with_the_last_epoch_needs_a_new_producer_id() -> None:
    """Apache 4.3: the fence of ``transaction.version`` 2 rotates the producer id, too."""
    desk = TransactionDesk(transaction_version=2)
    old = (desk.producer()[0], LAST_EPOCH)
    became(desk, epoch=LAST_EPOCH)
    desk.add(old, PARTITION)
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (desk.markers[0].epoch, desk.markers[0].version) == (LAST_EPOCH + 1, 2)
    desk.write_markers()
    assert desk.producer() == (NEXT_PRODUCER_ID, 1)


def test_a_timeout_with_the_last_epoch_waits_for_a_new_producer_id() -> None:
    """Apache: ``abortTimedOutTransactions`` tries again at the next
    ``transaction.abort.timed.out.transaction.cleanup.interval.ms``.
    """
    desk = TransactionDesk(transaction_version=2)
    old = (desk.producer()[0], LAST_EPOCH)
    became(desk, epoch=LAST_EPOCH)
    desk.add(old, PARTITION)
    desk.has_producer_ids = False
    desk.pass_time(70)
    assert desk.state().status is TransactionStatus.ONGOING
    desk.has_producer_ids = True
    desk.pass_time(11)
    assert (desk.state().status, desk.markers[0].epoch) == (TransactionStatus.PREPARE_ABORT, LAST_EPOCH + 1)


def test_a_fenced_producer_of_transaction_version_2_may_continue() -> None:
    """After a timeout the epoch is one higher. The producer's abort, or its InitProducerId, is taken for a retry."""
    desk = TransactionDesk(transaction_version=2)
    producer_id, epoch = desk.producer()
    desk.add((producer_id, epoch), PARTITION)
    desk.pass_time(70)
    desk.write_markers()
    assert ended(desk, (producer_id, epoch), committed=True) == (ErrorCode.INVALID_TXN_STATE, -1, -1)
    assert ended(desk, (producer_id, epoch), committed=False) == (0, producer_id, epoch + 1)


# Records that are not committed yet, or cannot be.


def test_while_a_record_is_not_committed_other_requests_wait() -> None:
    """Apache: ``pendingTransitionInProgress``. The decision would be made on a state that may be lost."""
    desk = TransactionDesk()
    producer = desk.producer()
    desk.is_followed = False
    first = desk.send(add_request(producer, PARTITION), 3)
    assert desk.add(producer, PARTITION) == {PARTITION: ErrorCode.CONCURRENT_TRANSACTIONS}
    assert desk.end(producer).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.end(producer, version=5).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert first not in desk.answers
    desk.commit_all()
    assert first in desk.answers


@pytest.mark.parametrize("request_of", [init_request, lambda: add_request((FIRST_PRODUCER_ID, 0), PARTITION)])
def test_with_too_few_replicas_nothing_changes(request_of: Any) -> None:
    """Apache: ``appendTransactionToLog`` makes COORDINATOR_NOT_AVAILABLE of NOT_ENOUGH_REPLICAS. The client retries."""
    desk = TransactionDesk()
    desk.producer()
    before = desk.state()
    desk.may_write = False
    answer = desk.ask(request_of(), 3)
    codes = {getattr(answer, "error_code", None)} | {
        each.partition_error_code
        for topic in getattr(answer, "topic_results", ())
        for each in topic.results_by_partition
    }
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE in codes
    assert desk.state() is before


def test_an_outcome_that_cannot_be_written_is_not_decided() -> None:
    desk = TransactionDesk()
    producer = desk.producer()
    desk.add(producer, PARTITION)
    desk.may_write = False
    assert desk.ask(end_request(producer), 3).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.may_write = True
    assert desk.end(producer, committed=False).error_code == ErrorCode.NONE
