"""The idempotent and transactional producers of one partition (KIP-98).

Per producer id it keeps the epoch, the last five batches and the first offset of the open transaction. ``check``
validates a batch before the append. ``append`` records it once it has its offsets. Recovery and followers ``replay``
the batches of the log without validation. A producer may have five batches in flight, so a retry of any of them is
recognised and gets the offsets of the first append.

Pure: time is an argument, a snapshot is bytes (``producer_snapshot``).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final

import attrs

from kraft.records.batch import NO_PRODUCER_ID, SEQUENCE_MASK, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError

RETAINED_BATCHES = 5
"""The largest ``max.in.flight.requests.per.connection`` that Kafka allows an idempotent producer."""
NO_EPOCH = -1
IN_TRANSACTION: Final = -1
"""In place of the end of a log, if the partition had the transaction, so that no coordinator was asked."""
FENCING_EPOCH = 2**15 - 1
"""The epoch that fences the last producer of an id. It cannot rise, so a marker ends a transaction that has it."""
EPOCH_BUMP_VERSION = 2
"""The first ``transaction.version`` whose markers have the epoch after that of their transaction (KIP-1228)."""


@attrs.frozen
class BatchMetadata:
    """A batch of a producer in the log: sequences and offsets. ``timestamp_ms`` is the batch's max timestamp."""

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
    """The log already holds the batch. The producer gets the offsets of the first append."""

    batch: BatchMetadata


@attrs.define
class ProducerEntry:
    """One producer of the partition. The epoch is -1 until a batch of it is known."""

    producer_id: int
    epoch: int = NO_EPOCH
    coordinator_epoch: int = NO_EPOCH
    last_timestamp_ms: int = -1
    """The max timestamp of the last batch."""
    transaction_first_offset: int | None = None
    last_marker_offset: int = -1
    """Where a transaction of the producer last ended, -1 if its next one has another epoch. Not part of a snapshot."""
    seen_ms: int = attrs.field(default=attrs.Factory(lambda self: self.last_timestamp_ms, takes_self=True), eq=False)
    """When this broker appended the last batch, which may have old records: expirations count from here. Not part of a
    snapshot. After a marker, a truncation or a start it is ``last_timestamp_ms``, from which Kafka always counts, or
    the present time if that is earlier, or if there is no timestamp.
    """
    batches: deque[BatchMetadata] = attrs.field(factory=lambda: deque(maxlen=RETAINED_BATCHES))

    def raise_epoch(self, epoch: int) -> None:
        """Change the epoch. Sequences restart at 0 in a new epoch, so the batches of the old one are dropped."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


MAX_UNVERIFIED = 1_000
"""Not a Kafka setting. The unknown producers of a partition whose lowest sequence is kept. Anyone may invent more."""


@attrs.frozen
class LowestSequence:
    """The lowest sequence of an unknown producer's epoch among the batches whose verification began."""

    epoch: int
    sequence: int
    seen_ms: int


@attrs.frozen
class CompletedTransaction:
    """A transaction of this partition that ended with its marker at ``last_offset``.

    ``last_stable_offset`` is the last stable offset after the marker, as stored in the transaction index.
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
        # First offsets in ascending order: of open transactions, and of those whose end is not replicated either.
        first_offsets = sorted(
            (entry.transaction_first_offset, entry.producer_id)
            for entry in self._entries.values()
            if entry.transaction_first_offset is not None
        )
        self._open = OrderedDict(first_offsets)
        """First offset → producer id."""
        self._unstable = OrderedDict(first_offsets)
        self.ended: deque[tuple[int, int]] = deque()
        """(offset of the marker, first offset) of each ended transaction whose marker is not replicated."""
        self._lowest: dict[int, LowestSequence] = {}
        """By producer id. Unknown producers only, and not part of a snapshot."""

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[ProducerEntry]:
        """The entries in order of producer id, for snapshots and DescribeProducers. Callers must not change them."""
        return sorted(self._entries.values(), key=lambda entry: entry.producer_id)

    def check(self, header: BatchHeader) -> DuplicateSequence | None:
        """Validate a client's data batch before the append. None means: append it.

        An unknown producer may start at any sequence: its state may have expired, or its records were deleted
        (KIP-360). So nothing raises UNKNOWN_PRODUCER_ID.

        Raises KafkaError INVALID_PRODUCER_EPOCH for an earlier epoch. OUT_OF_ORDER_SEQUENCE_NUMBER for a gap, for a new
        epoch that does not start at sequence 0, or for a batch that overtook one of :meth:`verification_began`.
        INVALID_TXN_STATE for a non-transactional batch inside the producer's own transaction.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return None
        entry = self._entries.get(header.producer_id)
        if entry is None or entry.epoch == NO_EPOCH:
            self._check_lowest(header)
            return None
        if header.producer_epoch == entry.epoch:
            for batch in entry.batches:
                if batch.first_sequence == header.base_sequence and batch.last_sequence == header.last_sequence:
                    return DuplicateSequence(batch)
        _check_epoch(entry, header.producer_epoch)
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
            message = f"producer {header.producer_id} has an open transaction and sent a non-transactional batch"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)
        return None

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has an open transaction in this partition."""
        entry = self._entries.get(producer_id)
        return entry is not None and entry.transaction_first_offset is not None and entry.epoch == epoch

    def verification_began(self, header: BatchHeader, now_ms: int) -> None:
        """Record the sequence of a batch whose transaction the coordinator must confirm.

        An unknown producer must not begin with a later batch. The coordinator may refuse the earlier one for a moment,
        and confirm the later one (``VerificationStateEntry`` in Kafka).
        """
        if header.producer_id in self._entries:
            return
        seen = LowestSequence(header.producer_epoch, header.base_sequence, now_ms)
        lowest = self._lowest.setdefault(header.producer_id, seen)
        if seen.epoch > lowest.epoch or (seen.epoch == lowest.epoch and seen.sequence < lowest.sequence):
            self._lowest[header.producer_id] = seen
        if len(self._lowest) > MAX_UNVERIFIED:
            del self._lowest[next(iter(self._lowest))]  # the oldest

    def check_transaction(self, producer_id: int, epoch: int, verified_at: int) -> None:
        """Check that a transaction did not end since it was found here (IN_TRANSACTION), or since its coordinator
        confirmed it when the log ended at ``verified_at`` (``VerificationGuard`` in Kafka).

        Raises KafkaError INVALID_TXN_STATE if it has: a batch would begin a transaction that no coordinator knows.
        """
        if verified_at == IN_TRANSACTION:
            has_ended = not self.is_in_transaction(producer_id, epoch)
        elif (entry := self._entries.get(producer_id)) is None:
            has_ended = False
        else:
            has_ended = entry.transaction_first_offset is None and entry.last_marker_offset >= verified_at
        if has_ended:
            message = f"the transaction of producer {producer_id} has ended"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)

    def check_first_sequence(self, header: BatchHeader) -> None:
        """Check that an unknown producer, whose transactions have epochs of their own, begins with sequence 0.

        Otherwise a batch that overtook a lost one would be appended (Kafka's ``ProducerAppendInfo.checkSequence``).

        Raises KafkaError OUT_OF_ORDER_SEQUENCE_NUMBER if batches are missing before it.
        """
        if header.base_sequence and header.producer_id not in self._entries:
            message = f"unknown producer {header.producer_id} began with sequence {header.base_sequence}, expected 0"
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)

    def append(self, header: BatchHeader, now_ms: int) -> None:
        """Record a data batch that has its offsets. ``producer.id.expiration.ms`` restarts at ``now_ms``."""
        if header.producer_id == NO_PRODUCER_ID:
            return
        entry = self._entry(header.producer_id)
        entry.raise_epoch(header.producer_epoch)
        entry.last_timestamp_ms, entry.seen_ms = header.max_timestamp, now_ms
        entry.batches.append(
            BatchMetadata(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
        )
        if header.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = header.base_offset
            self._open[header.base_offset] = self._unstable[header.base_offset] = header.producer_id

    def check_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Validate a batch of a coordinator before the append. Such a batch has no sequence.

        Raises KafkaError INVALID_PRODUCER_EPOCH for an earlier producer epoch.
        """
        entry = self._entries.get(producer_id)
        if entry is not None:
            _check_epoch(entry, producer_epoch)

    def check_marker(self, producer_id: int, producer_epoch: int, marker: EndTransactionMarker) -> None:
        """Validate a transaction marker before the append.

        Raises KafkaError INVALID_PRODUCER_EPOCH for an earlier producer epoch, or for a marker that would end the
        transaction after its own; TRANSACTION_COORDINATOR_FENCED for an earlier coordinator epoch.
        """
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        _check_epoch(entry, producer_epoch)
        is_next = entry.transaction_first_offset is not None and producer_epoch == entry.epoch < FENCING_EPOCH
        if is_next and marker.transaction_version >= EPOCH_BUMP_VERSION:
            message = f"producer {producer_id} has begun its next transaction, in epoch {producer_epoch}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            message = f"coordinator epoch {marker.coordinator_epoch} is fenced by epoch {entry.coordinator_epoch}"
            raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, message)

    def append_marker(
        self, header: BatchHeader, marker: EndTransactionMarker, now_ms: int
    ) -> CompletedTransaction | None:
        """Record a marker that has its offset. Return the transaction that it ended, None if none was open."""
        entry = self._entry(header.producer_id)
        entry.raise_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp_ms, entry.seen_ms = header.max_timestamp, now_ms
        entry.last_marker_offset = header.last_offset
        first_offset = entry.transaction_first_offset
        if first_offset is None:
            return None
        entry.transaction_first_offset = None
        del self._open[first_offset]
        self.ended.append((header.last_offset, first_offset))
        return CompletedTransaction(
            producer_id=header.producer_id,
            first_offset=first_offset,
            last_offset=header.last_offset,
            aborted=not marker.committed,
            last_stable_offset=next(iter(self._open), header.next_offset),
        )

    def next_epoch_began(self, producer_id: int) -> None:
        """The last marker has the epoch of the producer's next transaction, whose verification it may overtake.

        So it does not end that one (KIP-890; ``isV2NextTransactionStarted`` in Kafka).
        """
        self._entries[producer_id].last_marker_offset = -1

    def replay(
        self, header: BatchHeader, now_ms: int, marker: EndTransactionMarker | None = None
    ) -> CompletedTransaction | None:
        """Record a batch that is already in the log. ``marker`` is that of a control batch, if it has one.

        The producer was seen at the max timestamp of the batch, or now if there is none or it lies in the future.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return None
        seen_ms = _seen_ms(header.max_timestamp, now_ms)
        if marker is not None:
            return self.append_marker(header, marker, seen_ms)
        if not header.is_control:
            self.append(header, seen_ms)
        return None

    def recovered(self, now_ms: int) -> None:
        """Note the time at which these producers were read from a snapshot. A timestamp in the future must not keep one
        for ever.
        """
        for entry in self._entries.values():
            entry.seen_ms = _seen_ms(entry.last_timestamp_ms, now_ms)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Remove producers idle for ``producer.id.expiration.ms``, unless in a transaction. Return how many."""
        expired = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.transaction_first_offset is None and now_ms - entry.seen_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        self._lowest = {id_: each for id_, each in self._lowest.items() if now_ms - each.seen_ms < expiration_ms}
        return len(expired)

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Drop the markers below the high watermark: they are replicated and no longer limit the last stable offset."""
        while self.ended and self.ended[0][0] < high_watermark:
            _, first_offset = self.ended.popleft()
            del self._unstable[first_offset]

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the earliest transaction that is open, or whose marker is not replicated."""
        return next(iter(self._unstable), None)

    def has_late_transaction(self, now_ms: int, max_age_ms: int) -> bool:
        """Whether the producer of the earliest open transaction has written nothing for ``max_age_ms``. False if its
        last batch has no timestamp, as in Kafka.
        """
        if not self._open:
            return False
        entry = self._entries[next(iter(self._open.values()))]
        return entry.last_timestamp_ms > 0 and now_ms - entry.seen_ms > max_age_ms

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset at which a consumer with ``isolation.level=read_committed`` stops."""
        first_unstable = self.first_unstable_offset
        return high_watermark if first_unstable is None else min(first_unstable, high_watermark)

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
            self._lowest.pop(producer_id, None)
        return entry

    def _check_lowest(self, header: BatchHeader) -> None:
        lowest = self._lowest.get(header.producer_id)
        if lowest is not None and header.producer_epoch == lowest.epoch and header.base_sequence > lowest.sequence:
            message = (
                f"producer {header.producer_id} epoch {header.producer_epoch} sent sequence {header.base_sequence},"
                f" the earlier sequence {lowest.sequence} is not appended yet"
            )
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)


def _seen_ms(timestamp_ms: int, now_ms: int) -> int:
    """Return when the producer of a batch in the log was seen. Now, if the batch has no timestamp: earlier versions of
    the cleaner wrote none into the emptied batch of an active producer.
    """
    return min(timestamp_ms, now_ms) if timestamp_ms >= 0 else now_ms


def _check_epoch(entry: ProducerEntry, producer_epoch: int) -> None:
    if producer_epoch < entry.epoch:
        message = f"producer {entry.producer_id} epoch {producer_epoch} is fenced by epoch {entry.epoch}"
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
