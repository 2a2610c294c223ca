"""The pure coordinator of the transactional ids of one partition of ``__transaction_state``.

``now`` is the system's clock in seconds. A transaction changes only with committed records: until then its record is
pending, and other requests get CONCURRENT_TRANSACTIONS. A committed Prepare record yields the markers of its
partitions. The driver sends them, and reports each written marker. The last one completes the transaction.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

import attrs

from kraft.coordinator.core import (
    NO_DEADLINE,
    Committed,
    CoordinatorDeadlineReached,
    CoordinatorRequest,
    StoredRecord,
    Token,
)
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.records import TransactionRecord, decode_transaction
from kraft.coordinator.transactions.requests import add_partitions, end_transaction, init_producer_id
from kraft.coordinator.transactions.step import TransactionEntry, TransactionStep, TransactionWorld
from kraft.coordinator.transactions.transaction import (
    BETWEEN_TRANSACTIONS,
    PREPARED,
    TransactionPartition,
    TransactionStatus,
)
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.metadata.steps import Steps, finished, in_order
from kraft.wire.errors import KafkaError


@attrs.frozen
class MarkersWritten:
    """The leaders of ``partitions`` appended their markers, and committed them, or the partitions are deleted."""

    markers: TransactionMarkers
    partitions: Iterable[TransactionPartition]


@attrs.frozen
class ExpireTransactionalIds:
    """Time to expire unused ids (``transaction.remove.expired.transaction.cleanup.interval.ms``).

    One step expires as many as a batch can hold. The driver repeats the event until a step appends nothing.
    """


TransactionEvent = (
    CoordinatorRequest
    | CoordinatorDeadlineReached
    | Committed[TransactionRecord]
    | MarkersWritten
    | ExpireTransactionalIds
)


@attrs.define
class TransactionCoordinator:
    """All transactional ids of one partition.

    Requests have one of these messages:

    - InitProducerIdRequest, with a transactional id. The reply is an InitProducerIdResponse.
    - AddPartitionsToTxnTransaction, which the driver makes from an AddPartitionsToTxnRequest of any version, and from
      an AddOffsetsToTxnRequest: its partition is that of the group in ``__consumer_offsets``. The reply is an
      AddPartitionsToTxnResult.
    - EndTxnRequest. The reply is an EndTxnResponse.
    """

    world: TransactionWorld
    entries: dict[str, TransactionEntry] = attrs.Factory(dict)
    _timers: list[tuple[float, str]] = attrs.Factory(list)
    """A heap of (time, transactional id). The end of a transaction leaves its timer: timers may be early, but never
    late.
    """

    def step(self, now: float, event: TransactionEvent) -> TransactionEffects:
        """Run all steps of :meth:`in_steps` at once."""
        effects = self.new_effects()
        finished(self.in_steps(now, event, effects))
        return effects

    def new_effects(self) -> TransactionEffects:
        return TransactionEffects()

    def in_steps(self, now: float, event: TransactionEvent, effects: TransactionEffects) -> Steps[None]:
        step = TransactionStep(now, self.world, effects)
        match event:
            case CoordinatorRequest():
                yield from self._request(step, event)
            case Committed():
                for record in event.records:
                    yield from self._committed(step, record)
            case MarkersWritten():
                yield from self._markers_written(step, event)
            case ExpireTransactionalIds():
                yield from self._expire(step)
            case CoordinatorDeadlineReached():
                yield from self._fire_timers(step)
        effects.deadline = self.deadline

    @property
    def deadline(self) -> float:
        """When the next :class:`CoordinatorDeadlineReached` is due."""
        return self._timers[0][0] if self._timers else NO_DEADLINE

    def _request(self, step: TransactionStep, request: CoordinatorRequest) -> Steps[None]:
        match request.message:
            case InitProducerIdRequest():
                yield from init_producer_id(step, self.entries, request)
            case AddPartitionsToTxnTransaction():
                yield from add_partitions(step, self.entries, request)
            case EndTxnRequest():
                yield from end_transaction(step, self.entries, request)
            case _:
                raise TypeError(f"not a request of the coordinator of transactions: {type(request.message).__name__}")

    def _committed(self, step: TransactionStep, record: TransactionRecord) -> Steps[None]:
        yield 1
        if record.transaction is None:
            del self.entries[record.transactional_id]
            return
        entry = self.entries[record.transactional_id]
        entry.transaction = record.transaction
        if record is not entry.pending:
            return
        entry.pending = None
        if record.transaction.status in PREPARED:
            yield from self._send_markers(entry, step.effects)
        elif entry.transaction.status is TransactionStatus.ONGOING:
            self._set_timer(entry, self._timeout(entry))

    def _send_markers(self, entry: TransactionEntry, effects: TransactionEffects) -> Steps[None]:
        transaction = entry.transaction
        partitions = []
        for partition in (yield from in_order(transaction.partitions)):
            partitions.append(partition)
            yield 1
        entry.unwritten = set(partitions)
        entry.markers = TransactionMarkers(
            entry.transactional_id,
            transaction.producer_id,
            transaction.epoch,
            self.world.coordinator_epoch,
            transaction.status is TransactionStatus.PREPARE_COMMIT,
            transaction.client_version,
            tuple(partitions),
        )
        effects.markers.append(entry.markers)

    def _markers_written(self, step: TransactionStep, event: MarkersWritten) -> Steps[None]:
        """Complete the transaction with its last marker. Late reports of an earlier transaction have no effect."""
        entry = self.entries.get(event.markers.transactional_id)
        if entry is None or entry.markers is not event.markers:
            return
        for partition in event.partitions:
            entry.unwritten.discard(partition)
            yield 1
        if not entry.unwritten:
            entry.markers = None
            yield from step.write_completed(entry)

    def _set_timer(self, entry: TransactionEntry, at: float) -> None:
        if at < entry.timer:
            entry.timer = at
            heapq.heappush(self._timers, (at, entry.transactional_id))

    def _timeout(self, entry: TransactionEntry) -> float:
        """Return when to abort the transaction: at the first look for timeouts after it is too old."""
        interval_s = self.world.settings.transaction_abort_timed_out_transaction_cleanup_interval_s
        due = entry.transaction.started_ms / 1000 + entry.transaction.timeout_s
        return max(due, math.ceil(due / interval_s) * interval_s)

    def _fire_timers(self, step: TransactionStep) -> Steps[None]:
        due = []
        while self._timers and self._timers[0][0] <= step.now:
            at, transactional_id = heapq.heappop(self._timers)
            entry = self.entries.get(transactional_id)
            if entry is not None and entry.timer == at:
                entry.timer = NO_DEADLINE
                due.append(entry)
        for entry in due:
            yield from self._time_passed(step, entry)
            yield 1

    def _time_passed(self, step: TransactionStep, entry: TransactionEntry) -> Steps[None]:
        """Abort a transaction that is open for longer than its timeout (``transaction.timeout.ms``)."""
        is_open = entry.transaction.status is TransactionStatus.ONGOING
        if is_open and self._timeout(entry) > step.now:
            self._set_timer(entry, self._timeout(entry))
        elif is_open and not (yield from self._aborted(step, entry)):
            interval_s = self.world.settings.transaction_abort_timed_out_transaction_cleanup_interval_s
            self._set_timer(entry, step.now + interval_s)
        elif entry.transaction.status in PREPARED and not entry.unwritten and entry.pending is None:
            yield from step.write_completed(entry)

    def _aborted(self, step: TransactionStep, entry: TransactionEntry) -> Steps[bool]:
        """Abort a transaction, unless a record is pending or cannot be written now."""
        if entry.pending is not None:
            return False
        try:
            yield from step.fence(entry)
        except KafkaError:
            return False
        return True

    def _expire(self, step: TransactionStep) -> Steps[None]:
        """Append tombstones for ids without an open transaction (``transactional.id.expiration.ms``)."""
        unused_since_ms = step.timestamp_ms - self.world.settings.transactional_id_expiration_ms
        for entry in list(self.entries.values()):
            yield 1
            expires = entry.transaction.status in BETWEEN_TRANSACTIONS and entry.pending is None
            if expires and entry.transaction.updated_ms <= unused_since_ms and not step.append_tombstone(entry):
                return

    def load(self, records: Iterable[StoredRecord]) -> Steps[None]:
        """Replay the log. After each record it yields the record's size in bytes.

        Raises DecodeError if a record is damaged.
        """
        for key, value, *_ in records:
            record = yield from decode_transaction(key, value)
            if record is not None and record.transaction is None:
                self.entries.pop(record.transactional_id, None)
            elif record is not None and record.transaction is not None:
                self.entries[record.transactional_id] = TransactionEntry(record.transactional_id, record.transaction)
            yield len(key or b"") + len(value or b"")

    def begin(self, now: float, effects: TransactionEffects) -> Steps[None]:
        """Send the markers of prepared transactions, and start the timeouts of open ones."""
        for entry in self.entries.values():
            if entry.transaction.partitions and entry.transaction.status in PREPARED:
                yield from self._send_markers(entry, effects)
            elif entry.transaction.status in PREPARED:
                self._set_timer(entry, now)  # only a step may append the end of a transaction without partitions
            elif entry.transaction.status is TransactionStatus.ONGOING:
                self._set_timer(entry, self._timeout(entry))
            yield len(entry.transactional_id)

    def unload(self) -> Steps[None]:
        """Free the transactions, which takes long for many of them."""
        while self.entries:
            self.entries.popitem()
            yield 1

    def waiting(self) -> list[Token]:
        """Return no tokens: every request is answered, at the latest once its records are committed."""
        return []
