"""Bugs of the coordinator of transactions, and of the partitions that it ends transactions in."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.broker import producer_state
from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.transactions import core, requests
from kraft.coordinator.transactions.core import MarkersWritten, TransactionCoordinator
from kraft.coordinator.transactions.effects import TransactionEffects
from kraft.coordinator.transactions.records import decode_transaction
from kraft.coordinator.transactions.requests import end_transaction
from kraft.coordinator.transactions.step import TransactionEntry, TransactionStep, TransactionWorld
from kraft.coordinator.transactions.transaction import Transaction, TransactionStatus
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction
from kraft.metadata.steps import Steps
from tests.coordinator.planted import PlantedBug


def a_fence_that_commits(patch: pytest.MonkeyPatch) -> None:
    def fence(self: TransactionStep, entry: TransactionEntry) -> Steps[None]:
        prepared = attrs.evolve(entry.transaction, epoch=entry.transaction.epoch + 1).prepared(
            self.timestamp_ms, committed=True, client_version=0
        )
        yield from self.write_prepared(entry, prepared)

    patch.setattr(TransactionStep, "fence", fence)


def one_marker_that_stands_for_all(patch: pytest.MonkeyPatch) -> None:
    written = TransactionCoordinator._markers_written

    def all_written(self: TransactionCoordinator, step: TransactionStep, event: MarkersWritten) -> Steps[None]:
        yield from written(self, step, MarkersWritten(event.markers, event.markers.partitions))

    patch.setattr(TransactionCoordinator, "_markers_written", all_written)


def a_loaded_outcome_without_markers(patch: pytest.MonkeyPatch) -> None:
    def begin(self: TransactionCoordinator, now: float, effects: TransactionEffects) -> Steps[None]:
        yield 1

    patch.setattr(TransactionCoordinator, "begin", begin)


def a_loaded_commit_that_aborts(patch: pytest.MonkeyPatch) -> None:
    def decode(key: bytes | None, value: bytes | None) -> Steps[Any]:
        record = yield from decode_transaction(key, value)
        transaction = None if record is None else record.transaction
        if record is not None and transaction is not None and transaction.status is TransactionStatus.PREPARE_COMMIT:
            aborted = attrs.evolve(transaction, status=TransactionStatus.PREPARE_ABORT)
            record = attrs.evolve(record, transaction=aborted)
        return record

    patch.setattr(core, "decode_transaction", decode)


def a_timeout_that_never_fires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionCoordinator, "_timeout", lambda self, entry: 1e12)


def an_outcome_that_is_replied_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    def end(step: TransactionStep, entries: Any, request: CoordinatorRequest) -> Steps[None]:
        yield from end_transaction(step, entries, request)
        step.effects.replies += step.effects.replies_once_committed
        step.effects.replies_once_committed.clear()

    patch.setattr(core, "end_transaction", end)


def markers_of_an_outcome_that_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    def end(step: TransactionStep, entries: Any, request: CoordinatorRequest) -> Steps[None]:
        yield from end_transaction(step, entries, request)
        entry = entries.get(request.message.transactional_id)
        if step.effects.append and entry.pending.transaction.partitions:
            entry.transaction = entry.pending.transaction
            yield from TransactionCoordinator(step.world, entries)._send_markers(entry, step.effects)

    patch.setattr(core, "end_transaction", end)


def a_pending_record_that_is_ignored(patch: pytest.MonkeyPatch) -> None:
    entry_of_producer = requests._entry_of_producer

    def entry_of(entries: Any, message: AddPartitionsToTxnTransaction) -> TransactionEntry:
        entry = entries.get(message.transactional_id)
        if entry is not None:
            entry.pending = None
        return entry_of_producer(entries, message)

    patch.setattr(requests, "_entry_of_producer", entry_of)


def a_producer_that_is_not_fenced(patch: pytest.MonkeyPatch) -> None:
    entry_of_producer = requests._entry_of_producer

    def entry_of(entries: Any, message: AddPartitionsToTxnTransaction) -> TransactionEntry:
        entry = entries.get(message.transactional_id)
        if entry is not None:
            message.producer_id, message.producer_epoch = entry.transaction.producer_id, entry.transaction.epoch
        return entry_of_producer(entries, message)

    patch.setattr(requests, "_entry_of_producer", entry_of)


def a_producer_that_begins_before_the_markers(patch: pytest.MonkeyPatch) -> None:
    def initialized(self: Transaction, now_ms: int, timeout_s: float, **changes: Any) -> Transaction:
        return attrs.evolve(
            self,
            status=TransactionStatus.EMPTY,
            timeout_s=timeout_s,
            partitions=frozenset(),
            started_ms=-1,
            **changes,
        )

    patch.setattr(TransactionEntry, "is_changing", property(lambda self: self.pending is not None))
    patch.setattr(Transaction, "initialized", initialized)


def markers_without_the_epoch_of_their_coordinator(patch: pytest.MonkeyPatch) -> None:
    init = TransactionWorld.__init__

    def with_old_epoch(self: TransactionWorld, *arguments: Any) -> None:
        init(self, arguments[0], -arguments[1], *arguments[2:])

    patch.setattr(TransactionWorld, "__init__", with_old_epoch)


def an_end_that_does_not_bump_the_epoch(patch: pytest.MonkeyPatch) -> None:
    prepared = Transaction.prepared

    def same_epoch(self: Transaction, now_ms: int, **fields: Any) -> Transaction:
        return attrs.evolve(prepared(self, now_ms, **fields), epoch=self.epoch)

    patch.setattr(Transaction, "prepared", same_epoch)


def a_late_marker_that_ends_the_next_transaction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producer_state, "EPOCH_BUMP_VERSION", 3)


PLANTED = [
    PlantedBug("transactions", a_fence_that_commits, "Atomicity"),
    PlantedBug("transactions", one_marker_that_stands_for_all, "Atomicity"),
    PlantedBug("transactions", a_loaded_outcome_without_markers, "NoHangingTransaction"),
    PlantedBug("transactions-2", a_loaded_commit_that_aborts, "Atomicity"),
    PlantedBug("transactions", a_timeout_that_never_fires, "NoHangingTransaction"),
    PlantedBug("transactions", an_outcome_that_is_replied_before_it_is_committed, "Atomicity"),
    PlantedBug("transactions-2", markers_of_an_outcome_that_is_not_committed, "MarkersAfterCommit"),
    PlantedBug("transactions-2", a_pending_record_that_is_ignored, "NoHangingTransaction"),
    PlantedBug("transactions", a_producer_that_is_not_fenced, "ZombiesAreFenced"),
    PlantedBug("transactions", a_producer_that_begins_before_the_markers, None),
    PlantedBug("transactions", markers_without_the_epoch_of_their_coordinator, "NoHangingTransaction"),
    PlantedBug("transactions-2", an_end_that_does_not_bump_the_epoch, "NoHangingTransaction"),
    PlantedBug("transactions-2", a_late_marker_that_ends_the_next_transaction, "Atomicity"),
]
