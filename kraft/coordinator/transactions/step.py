"""One step of the coordinator: its time, what its driver gives it, and how it writes the next state of an id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kraft.coordinator.core import NO_DEADLINE, Token
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.records import TransactionRecord, transaction_value
from kraft.coordinator.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    Transaction,
    TransactionPartition,
)
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_BATCH_BYTES = 80
"""The size of a batch with one record, without the key and the value."""
_RECORD_BYTES = 20
"""The most that one record adds to a batch, without the key and the value."""
OUTCOME_BYTES = 100
"""More than the outcome of a transaction adds to its record. A record without this room could never end."""


@attrs.frozen
class TransactionCoordinatorSettings:
    """Broker settings of the coordinator, named as in Kafka. The expiration is compared with timestamps of records."""

    transaction_max_timeout_s: float = 900.0
    transaction_abort_timed_out_transaction_cleanup_interval_s: float = 10.0
    transactional_id_expiration_ms: int = 7 * 24 * 3600 * 1000


@attrs.frozen
class TransactionWorld:
    """The settings and functions that its driver passes to the coordinator.

    ``new_producer_id`` returns an id that no producer had. It raises a KafkaError, which the producer retries, if it
    has none yet. ``transaction_version`` returns the finalized level of the feature. ``may_write`` returns whether the
    partition has enough replicas in sync for an append with ``acks=all``, and ``max_batch_bytes`` its
    ``max.message.bytes``.
    """

    settings: TransactionCoordinatorSettings
    coordinator_epoch: int
    new_producer_id: Callable[[], int]
    transaction_version: Callable[[], int]
    may_write: Callable[[], bool]
    max_batch_bytes: Callable[[], int]


@attrs.define
class TransactionEntry:
    """The state of one transactional id.

    ``transaction`` is committed. ``pending`` is the record that will replace it, until it is committed: meanwhile no
    other request changes the transaction. ``unwritten`` are the partitions of ``markers`` whose leaders have not yet
    appended theirs.
    """

    transactional_id: str
    transaction: Transaction
    pending: TransactionRecord | None = None
    markers: TransactionMarkers | None = None
    unwritten: set[TransactionPartition] = attrs.Factory(set)
    timer: float = NO_DEADLINE

    @property
    def is_changing(self) -> bool:
        """Whether a record is pending, or the transaction waits for its markers.

        Apache's ``pendingTransitionInProgress``: a Prepare record that is committed makes Complete pending at once.
        """
        return self.pending is not None or self.transaction.status in PREPARED


@attrs.define
class TransactionStep:
    """One step of the coordinator, and its effects so far."""

    now: float
    world: TransactionWorld
    effects: TransactionEffects
    _batch_bytes: int = _BATCH_BYTES

    @property
    def timestamp_ms(self) -> int:
        """The time as records have it: milliseconds since the epoch."""
        return round(self.now * 1000)

    def reply(self, token: Token, message: Any) -> None:
        self.effects.replies.append((token, message))

    def reply_once_committed(self, token: Token, message: Any) -> None:
        """Reply once the records of this step are committed."""
        self.effects.replies_once_committed.append((token, message))

    def write(self, entry: TransactionEntry, *states: Transaction, spare_bytes: int = 0) -> Steps[None]:
        """Append the next states of a transactional id in one batch, if it has room for them and ``spare_bytes`` more.

        Raises KafkaError if the request is refused; then nothing is appended.
        """
        if not self.world.may_write():
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        records = yield from self._records(entry, states)
        if not self._has_room(records, spare_bytes):
            # Apache: TransactionStateManager.appendTransactionToLog returns this error for MESSAGE_TOO_LARGE.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._append(entry, records)

    def append_tombstone(self, entry: TransactionEntry) -> bool:
        """Append the tombstone of an expired id. Return False if the batch is full, or nothing can be written now."""
        records = [TransactionRecord(entry.transactional_id, None, None)]
        if not self.world.may_write() or not self._has_room(records):
            return False
        self._append(entry, records)
        return True

    def _has_room(self, records: list[TransactionRecord], spare_bytes: int = 0) -> bool:
        """Reserve the bytes of the records in the batch, if it can hold them and ``spare_bytes`` more."""
        size = sum(_RECORD_BYTES + len(each.key) + len(each.value or b"") for each in records)
        if self._batch_bytes + size + spare_bytes > self.world.max_batch_bytes():
            return False
        self._batch_bytes += size
        return True

    def write_completed(self, entry: TransactionEntry) -> Steps[None]:
        """Append the end of a transaction whose markers are written, even with too few replicas in sync.

        If the record is lost, the next coordinator sends the markers and appends it again.
        """
        self._append(entry, (yield from self._records(entry, (entry.transaction.completed(self.timestamp_ms),))))

    def _append(self, entry: TransactionEntry, records: list[TransactionRecord]) -> None:
        entry.pending = records[-1]
        self.effects.append += records

    def _records(self, entry: TransactionEntry, states: tuple[Transaction, ...]) -> Steps[list[TransactionRecord]]:
        records = []
        for state in states:
            value = yield from transaction_value(state, self.world.transaction_version())
            records.append(TransactionRecord(entry.transactional_id, state, value))
        return records

    def write_prepared(self, entry: TransactionEntry, prepared: Transaction) -> Steps[None]:
        """Append the outcome of a transaction. Without partitions it needs no markers, and is complete at once.

        Raises KafkaError as :meth:`write`.
        """
        if prepared.partitions:
            yield from self.write(entry, prepared)
        else:
            yield from self.write(entry, prepared, prepared.completed(self.timestamp_ms))

    def fence(self, entry: TransactionEntry) -> Steps[None]:
        """Abort an open transaction with the next epoch, so that all partitions fence its producer.

        Raises KafkaError as :meth:`write`, or if there is no new producer id yet.
        """
        current, version = entry.transaction, self.world.transaction_version()
        if version >= EPOCH_BUMP_VERSION:
            yield from self.end(entry, committed=False, client_version=version)
            return
        # No producer gets this epoch, so a request with the last one is no retry.
        fenced = attrs.evolve(current, epoch=current.following_epoch, last_epoch=NO_EPOCH)
        yield from self.write_prepared(entry, fenced.prepared(self.timestamp_ms, committed=False, client_version=0))

    def end(self, entry: TransactionEntry, *, committed: bool, client_version: int) -> Steps[Transaction]:
        """Append the outcome of a transaction, and return the prepared one. A producer that bumps its epoch each time
        may need a new producer id.

        Raises KafkaError as :meth:`write`, or if there is no new producer id yet.
        """
        current = entry.transaction
        rotates = client_version >= EPOCH_BUMP_VERSION and current.is_exhausted
        next_producer_id = self.world.new_producer_id() if rotates else NO_PRODUCER_ID
        prepared = current.prepared(
            self.timestamp_ms,
            committed=committed,
            client_version=client_version,
            next_producer_id=next_producer_id,
        )
        yield from self.write_prepared(entry, prepared)
        return prepared
