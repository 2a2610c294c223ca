"""What one partition remembers of its idempotent and transactional producers (KIP-98).

Per producer id: its epoch, its last five batches, and where its open transaction began. A batch is judged by ``check``
before it is appended, and remembered by ``append`` once it has its offsets; recovery and followers ``replay`` what the
log already holds, unjudged. The five batches are as many as a producer may have in flight, so a retry of any of them is
recognised and answered with the offsets it got the first time.

Bookkeeping only: the time is an argument, and the snapshot is bytes (``producer_snapshot``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import attrs

from kraft.records.batch import NO_PRODUCER_ID, SEQUENCE_MASK, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError

RETAINED_BATCHES = 5
"""Kafka's max.in.flight.requests.per.connection of an idempotent producer."""
NO_EPOCH = -1


@attrs.frozen
class AppendedBatch:
    """A batch in the log, as its producer numbered it; ``timestamp_ms`` is its max timestamp."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@attrs.frozen
class DuplicateSequence:
    """The batch is in the log already: answer the producer with where it went the first time."""

    batch: AppendedBatch


@attrs.define
class ProducerEntry:
    """One producer in this partition. An epoch of -1 means that no batch of it is known."""

    producer_id: int
    epoch: int = NO_EPOCH
    coordinator_epoch: int = NO_EPOCH
    last_timestamp_ms: int = -1
    transaction_first_offset: int | None = None
    batches: deque[AppendedBatch] = attrs.field(factory=lambda: deque(maxlen=RETAINED_BATCHES))

    def raise_epoch(self, epoch: int) -> None:
        """Sequences begin again with a new epoch, so the batches of the old one are no longer comparable."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


@attrs.frozen
class CompletedTransaction:
    """A transaction of this partition that its marker, at ``last_offset``, has ended.

    ``last_stable_offset`` is that of the moment after: readers of the transaction index stop there.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int


class ProducerStates:
    """The producers of one partition, by id."""

    def __init__(self, entries: Iterable[ProducerEntry] = ()) -> None:
        self._entries = {entry.producer_id: entry for entry in entries}
        # First offsets of open transactions; and of ended ones, by the offset of a marker not yet replicated.
        self._open = {
            entry.transaction_first_offset
            for entry in self._entries.values()
            if entry.transaction_first_offset is not None
        }
        self._unreplicated: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[ProducerEntry]:
        """By producer id; for snapshots and DescribeProducers. Not to be changed."""
        return sorted(self._entries.values(), key=lambda entry: entry.producer_id)

    def check(self, header: BatchHeader) -> DuplicateSequence | None:
        """Judge a data batch of a client before it is appended; None: append it.

        A producer of whom nothing is known may begin anywhere: its state may have expired or its records been deleted
        (KIP-360; UNKNOWN_PRODUCER_ID is of the past). Raises KafkaError: INVALID_PRODUCER_EPOCH for an epoch that is
        over, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap, or for a new epoch that does not begin at 0, INVALID_TXN_STATE
        for a plain batch inside the producer's own transaction.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return None
        entry = self._entries.get(header.producer_id)
        if entry is None or entry.epoch == NO_EPOCH:
            return None
        if header.producer_epoch == entry.epoch:
            for batch in entry.batches:
                if batch.first_sequence == header.base_sequence and batch.last_sequence == header.last_sequence:
                    return DuplicateSequence(batch)
        _check_epoch(entry, header)
        expected = 0
        if header.producer_epoch == entry.epoch and entry.batches:
            expected = entry.batches[-1].last_sequence + 1 & SEQUENCE_MASK
        if header.base_sequence != expected:
            message = (
                f"producer {header.producer_id} epoch {header.producer_epoch} sent sequence {header.base_sequence},"
                f" expected {expected}"
            )
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
        if entry.transaction_first_offset is not None and not header.is_transactional:
            message = f"producer {header.producer_id} has an open transaction and sent a batch outside of it"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)
        return None

    def append(self, header: BatchHeader, now_ms: int) -> None:
        """Remember a data batch that now has its offsets. The producer's lease begins anew at ``now_ms``."""
        if header.producer_id == NO_PRODUCER_ID:
            return
        entry = self._entry(header.producer_id)
        entry.raise_epoch(header.producer_epoch)
        entry.last_timestamp_ms = now_ms
        entry.batches.append(
            AppendedBatch(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
        )
        if header.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = header.base_offset
            self._open.add(header.base_offset)

    def check_marker(self, header: BatchHeader, marker: EndTransactionMarker) -> None:
        """Judge a transaction marker before it is appended.

        Raises KafkaError: INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED for a deposed coordinator.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        _check_epoch(entry, header)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            message = f"coordinator epoch {marker.coordinator_epoch} is over, {entry.coordinator_epoch} has begun"
            raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, message)

    def append_marker(
        self, header: BatchHeader, marker: EndTransactionMarker, now_ms: int
    ) -> CompletedTransaction | None:
        """Remember a marker that now has its offset: the transaction it ended, None if there was none."""
        entry = self._entry(header.producer_id)
        entry.raise_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp_ms = now_ms
        first_offset = entry.transaction_first_offset
        if first_offset is None:
            return None
        entry.transaction_first_offset = None
        self._open.discard(first_offset)
        self._unreplicated[header.last_offset] = first_offset
        return CompletedTransaction(
            producer_id=header.producer_id,
            first_offset=first_offset,
            last_offset=header.last_offset,
            aborted=not marker.committed,
            last_stable_offset=min(self._open, default=header.next_offset),
        )

    def replay(
        self, header: BatchHeader, now_ms: int, marker: EndTransactionMarker | None = None
    ) -> CompletedTransaction | None:
        """Remember a batch that the log holds already; ``marker`` if it is a control batch that has one.

        Its producer was alive at the max timestamp of the batch, or now if that lies in the future.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return None
        alive_ms = min(header.max_timestamp, now_ms)
        if marker is not None:
            return self.append_marker(header, marker, alive_ms)
        if not header.is_control:
            self.append(header, alive_ms)
        return None

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers silent for ``producer.id.expiration.ms``, except in a transaction; return how many."""
        expired = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.transaction_first_offset is None and now_ms - entry.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Markers below the high watermark are replicated: their transactions no longer hold back readers."""
        for marker_offset in [offset for offset in self._unreplicated if offset < high_watermark]:
            del self._unreplicated[marker_offset]

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction begins whose outcome is open, or known but not replicated."""
        return min((*self._open, *self._unreplicated.values()), default=None)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where readers of committed records stop (``isolation.level``)."""
        first_unstable = self.first_unstable_offset
        return high_watermark if first_unstable is None else min(first_unstable, high_watermark)

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        return entry


def _check_epoch(entry: ProducerEntry, header: BatchHeader) -> None:
    if header.producer_epoch < entry.epoch:
        message = f"producer {header.producer_id} epoch {header.producer_epoch} is over, {entry.epoch} has begun"
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
