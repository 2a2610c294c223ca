"""Compaction: keep the last record of each key (``cleanup.policy=compact``).

The first pass builds the offset map, key → its last offset, over the dirty part of the log. The second pass copies the
clean part and the mapped part. It drops every record whose key has a later one, and every expired tombstone. Kept
records keep their offsets. A batch keeps its first and last offset, its producer and its epoch. The last batch of a
producer stays even if it is empty, because it holds the producer's sequence (KIP-98).

A tombstone expires at the delete horizon of its batch: ``delete.retention.ms`` after its first compaction (KIP-534).
Records of aborted transactions are dropped, and then the markers of transactions without records, as tombstones are.

``Cleaning.run`` only reads sealed segments and writes ``.cleaned`` files beside them, so it may run on another thread.
``Log.replace_segments`` then puts them in place. After a crash ``recovery`` finishes or undoes the replacement.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

import attrs

from kraft.broker.producer_state import ProducerStates
from kraft.config.setting import LONG_MAX
from kraft.config.topic import LogConfig
from kraft.records.batch import NO_PRODUCER_ID, BatchHeader, CorruptBatch
from kraft.records.compression import Compression
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch, read_records
from kraft.storage.cleaned_transactions import PassedTransactions
from kraft.storage.flush import sync_file
from kraft.storage.index import fits_index
from kraft.storage.lookup import MAX_DECOMPRESSED_BYTES
from kraft.storage.opening import RECORDS_PER_SLICE
from kraft.storage.scan import read_batch
from kraft.storage.segment import (
    CLEANED_SUFFIX,
    SWAP_SUFFIX,
    AppendedBatch,
    Segment,
    remove_segment,
    rename_segment,
)
from kraft.storage.transaction_index import TransactionIndex

_MAX_KEYS = 500_000
"""Hard limit of the offset map, some 70 MB. A log with more keys needs several compactions."""
_DIGEST_BYTES = 16
_RECORDS_PER_BATCH_HEADER = 20
"""A batch costs as much as so many records, beside its own."""


class CleaningStopped(Exception):
    """The caller stopped the compaction, or the log lost a segment meanwhile. The compaction changed nothing."""


@attrs.frozen
class SegmentGroup:
    """Sealed segments and the one ``.cleaned`` segment that replaces them."""

    old: tuple[Segment, ...]
    new: Segment


@attrs.frozen
class Cleaned:
    """The result of a compaction. Everything below ``clean_end`` is compacted once ``groups`` are in place."""

    clean_end: int
    groups: tuple[SegmentGroup, ...]

    def discard(self) -> None:
        """Delete the ``.cleaned`` files, because the log has changed meanwhile. Raises OSError."""
        for group in self.groups:
            discard(group.new)


@attrs.frozen
class Cleaning:
    """One compaction. The log's own thread creates it."""

    segments: tuple[Segment, ...]
    """The sealed segments below the dirty end."""
    clean_end: int
    config: LogConfig
    last_offsets: dict[int, int]
    """Producer id → last offset of its last batch."""
    last_epochs: dict[int, int]
    """Producer id → epoch, of a producer without a batch. Its markers alone show its epoch."""
    aborted: tuple[TransactionIndex, ...]
    """The indexes of all segments. The first of them belong to ``segments``."""

    @classmethod
    def begin(
        cls, segments: Sequence[Segment], clean_end: int, dirty_end: int, config: LogConfig, producers: ProducerStates
    ) -> Cleaning:
        """Prepare to compact everything below ``dirty_end``. The part below ``clean_end`` is compacted already."""
        covered = [segment.twin() for segment in segments[:-1] if segment.next_offset <= dirty_end]
        last_offsets = {
            entry.producer_id: entry.batches[-1].last_offset for entry in producers.entries() if entry.batches
        }
        last_epochs = {entry.producer_id: entry.epoch for entry in producers.entries() if not entry.batches}
        for segment in segments:
            segment.aborted.load()  # here, because a load may repair the file
        aborted = tuple(segment.aborted for segment in segments)
        return cls(tuple(covered), clean_end, config, last_offsets, last_epochs, aborted)

    def run(
        self, now_ms: int, should_stop: Callable[[], bool] = lambda: False, let_go: Callable[[], None] = lambda: None
    ) -> Cleaned:
        """Write the compacted segments, durably. Deletes them if it raises CleaningStopped, CorruptBatch or OSError.

        Calls ``let_go`` about every millisecond, so that other threads get the interpreter's lock.
        """
        written: list[Segment] = []
        pace = _Pace(should_stop, let_go)
        try:
            offsets, end = self._offset_map(pace)
            mapped = [segment for segment in self.segments if segment.base_offset < end]
            groups, transactions, number = [], PassedTransactions(self.aborted), 0
            for old in _groups(mapped, self.config):
                first = old[0]
                remove_segment(first.directory, first.base_offset, CLEANED_SUFFIX)  # leftovers of a crash
                new = Segment.create(first.directory, first.base_offset, first.index_interval_bytes, CLEANED_SUFFIX)
                written.append(new)
                for segment in old:
                    transactions.enter(number, segment.base_offset, segment.next_offset)
                    number += 1
                    self._copy(segment, new, offsets, end, transactions, now_ms, pace)
                _finish(new, old[-1])
                groups.append(SegmentGroup(old, new))
            return Cleaned(end, tuple(groups))
        except (OSError, CorruptBatch) as failure:
            for new in written:
                discard(new)
            # Retention took a segment, or a truncation cut what this thread reads.
            if isinstance(failure, FileNotFoundError) or should_stop():
                raise CleaningStopped from failure
            raise
        except BaseException:
            for new in written:
                discard(new)
            raise

    def _offset_map(self, pace: _Pace) -> tuple[dict[bytes, int], int]:
        """Return key → last offset over the dirty part, and the offset where the map ends.

        A full map ends before the dirty part does.
        """
        offsets: dict[bytes, int] = {}
        transactions = PassedTransactions(self.aborted)
        for number, segment in enumerate(self.segments):
            if segment.next_offset <= self.clean_end:
                continue
            # The walk passes no marker below the clean end. So an aborted transaction that ended there would not end.
            transactions.enter(number, max(segment.base_offset, self.clean_end), segment.next_offset)
            for _, header, records in _batches(segment, self.clean_end, pace):
                if len(offsets) + len(records) > _MAX_KEYS and offsets:
                    return offsets, header.base_offset
                if header.is_control:
                    for record in records:
                        marker = EndTransactionMarker.from_record(record)
                        if marker is not None:
                            transactions.pass_marker(header, marker)
                elif not transactions.pass_batch(header):
                    for record in pace.through(records):
                        if record.key is not None and record.offset >= self.clean_end:
                            offsets[_digest(record.key)] = record.offset
        return offsets, self.segments[-1].next_offset if self.segments else self.clean_end

    def _copy(
        self,
        old: Segment,
        new: Segment,
        offsets: dict[bytes, int],
        end: int,
        transactions: PassedTransactions,
        now_ms: int,
        pace: _Pace,
    ) -> None:
        """Copy what is kept of ``old`` to ``new``. The map ``offsets`` ends at ``end``, perhaps inside of ``old``."""
        end_ms = now_ms + self.config.delete_retention_ms
        # Kafka's sum overflows then, which is no horizon either: tombstones stay for ever.
        expires_ms = end_ms if end_ms <= LONG_MAX else None
        for data, header, records in _batches(old, old.base_offset, pace):
            horizon_ms = header.delete_horizon_ms
            if header.is_control:
                kept, is_needless = _passed(header, records, transactions, new)
                if is_needless and horizon_ms is None:
                    horizon_ms = expires_ms
                elif is_needless and horizon_ms is not None and now_ms >= horizon_ms:
                    # A start without a snapshot learns the epoch of such a producer from its last marker alone.
                    kept = records if self._is_last_of_producer(header) else []
            elif transactions.pass_batch(header):
                kept = []
            else:
                kept = [record for record in pace.through(records) if _is_kept(record, header, offsets, end, now_ms)]
                if horizon_ms is None and any(record.value is None for record in kept):
                    horizon_ms = expires_ms
            if not kept and not self._is_last_of_producer(header):
                continue
            if len(kept) < len(records) or horizon_ms != header.delete_horizon_ms:
                data = _rewrite(header, kept, horizon_ms)
                max_timestamp = max((record.timestamp for record in kept), default=header.max_timestamp)
                header = header._replace(max_timestamp=max_timestamp)
            new.append(data, [AppendedBatch(0, header.last_offset, header.max_timestamp)])

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if header.producer_id == NO_PRODUCER_ID:
            return False
        if header.is_control:
            return self.last_epochs.get(header.producer_id) == header.producer_epoch
        return self.last_offsets.get(header.producer_id) == header.last_offset


@attrs.define
class _Pace:
    """Counts the work of one compaction, and lets other threads run in between."""

    should_stop: Callable[[], bool]
    let_go: Callable[[], None]
    _done: int = 0

    def begin_batch(self) -> None:
        """Raises CleaningStopped."""
        if self.should_stop():
            raise CleaningStopped
        self._spend(_RECORDS_PER_BATCH_HEADER)

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            yield record
            self._spend(1)

    def _spend(self, cost: int) -> None:
        self._done += cost
        if self._done >= RECORDS_PER_SLICE:
            self._done = 0
            self.let_go()


def _batches(segment: Segment, offset: int, pace: _Pace) -> Iterator[tuple[bytes, BatchHeader, list[Record]]]:
    """Yield bytes, header and records of each batch from ``offset`` on. Raises CorruptBatch, which names the file."""
    file = segment.file
    start = segment.index.position_of(offset) if offset > segment.base_offset else 0
    try:
        for position, header in segment.headers(start):
            pace.begin_batch()
            data = read_batch(file.fileno(), position, header)
            yield data, header, list(pace.through(read_records(data, 0, header, max_bytes=MAX_DECOMPRESSED_BYTES)))
    except CorruptBatch as damage:
        raise CorruptBatch(f"{segment.path}: {damage}") from damage


def _passed(
    header: BatchHeader, records: list[Record], transactions: PassedTransactions, new: Segment
) -> tuple[list[Record], bool]:
    """Pass a control batch. Return its records, and whether it is a marker that no record needs."""
    is_needless = False
    for record in records:
        marker = EndTransactionMarker.from_record(record)
        if marker is not None:
            passed = transactions.pass_marker(header, marker)
            is_needless = passed.is_needless
            if passed.aborted is not None:
                new.aborted.record(passed.aborted)
    return records, is_needless


def _is_kept(record: Record, header: BatchHeader, offsets: dict[bytes, int], end: int, now_ms: int) -> bool:
    if record.offset >= end:
        return True  # a tombstone that is not in the map would go before the values that it deletes
    if record.key is None or record.offset < offsets.get(_digest(record.key), -1):
        return False
    horizon_ms = header.delete_horizon_ms
    return record.value is not None or horizon_ms is None or now_ms < horizon_ms


def _rewrite(header: BatchHeader, kept: list[Record], horizon_ms: int | None) -> bytes:
    """Return the same batch with these records only.

    An empty one keeps its max timestamp, from which the expiration of its producer counts after a replay. It has no
    codec and no delete horizon (``DefaultRecordBatch.writeEmptyHeader``).
    """
    return encode_batch(
        kept,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        compression=header.compression if kept else Compression.NONE,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        control=header.is_control,
        transactional=header.is_transactional,
        timestamp_type=header.timestamp_type,
        delete_horizon_ms=horizon_ms if kept else None,
        empty_max_timestamp=header.max_timestamp,
    )


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


def _groups(segments: Sequence[Segment], config: LogConfig) -> Iterator[tuple[Segment, ...]]:
    """Group neighbours that fit into one segment together: by size, by offsets, and by the size of the indexes."""
    group: list[Segment] = []
    for segment in segments:
        together = [*group, segment]
        fits = (
            sum(each.size for each in together) <= config.segment_bytes
            and sum(each.index.size for each in together) <= config.segment_index_bytes
            and sum(each.time_index.size for each in together) <= config.segment_index_bytes
            and fits_index(segment.next_offset, together[0].base_offset)
        )
        if group and not fits:
            yield tuple(group)
            group = []
        group.append(segment)
    if group:
        yield tuple(group)


def _finish(new: Segment, last: Segment) -> None:
    """Complete a copy and make it durable. It keeps the modification time, so that retention by time does not start
    again.
    """
    new.seal()
    old_file, new_file = last.file, new.file
    modified_ns = os.fstat(old_file.fileno()).st_mtime_ns
    os.utime(new_file.fileno(), ns=(modified_ns, modified_ns))
    os.fsync(new_file.fileno())
    sync_file(new.index.path)
    sync_file(new.time_index.path)
    if len(new.aborted):
        sync_file(new.aborted.path)
    new.next_offset = last.next_offset


def install(segments: list[Segment], group: SegmentGroup) -> list[str]:
    """Put a copy in the place of its originals; return the files to delete later. Raises OSError.

    If retention or a truncation has changed the originals meanwhile, discard the copy.
    """
    new = group.new
    first = next((number for number, each in enumerate(segments) if each.base_offset == new.base_offset), 0)
    present = segments[first : first + len(group.old)]
    if [(each.base_offset, each.size) for each in present] != [(each.base_offset, each.size) for each in group.old]:
        discard(new)
        return []
    new.close()
    rename_segment(new.directory, new.base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)
    retired = [path for each in present for path in each.retire()]
    rename_segment(new.directory, new.base_offset, SWAP_SUFFIX, "")
    installed = Segment.load(new.directory, new.base_offset, new.size, new.index_interval_bytes)
    installed.next_offset = new.next_offset
    installed.max_timestamp, installed.max_timestamp_offset = new.max_timestamp, new.max_timestamp_offset
    segments[first : first + len(present)] = [installed]
    return retired


def discard(segment: Segment) -> None:
    """Delete the files of an unused copy. Raises OSError."""
    segment.close()
    remove_segment(segment.directory, segment.base_offset, CLEANED_SUFFIX)
