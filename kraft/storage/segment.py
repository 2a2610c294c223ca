"""One segment: a log file of consecutive batches and its two indexes, named after the base offset.

An append writes the log file first, then the time index, then the offset index. So the log contains every batch that an
index names. The time index covers every batch up to the last one in the offset index. A walk of the log finds the later
batches. The first aborted transaction that ends in the segment creates its ``.txnindex``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

import attrs

from kraft.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from kraft.storage.atomic import write_all
from kraft.storage.index import NO_TIMESTAMP, OffsetIndex, TimeIndex, fits_index
from kraft.storage.open_files import LazyFile, OpenFile
from kraft.storage.recent import RecentBatches
from kraft.storage.scan import walk
from kraft.storage.transaction_index import TransactionIndex
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer
from kraft.world.slices import next_slice

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TXN_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
NEW_SUFFIX = ".new"
"""Not Kafka's. The file of ``Segments.start_over`` before the other segments are gone."""
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)

MAX_POSITION = 2**31 - 1
"""An index stores a position in 31 bits, so no segment is larger."""

PIECE_BYTES = 1 << 20
"""Not a Kafka setting. The bytes that ``write_ahead`` writes before other tasks run: a few milliseconds of work."""

_LONGEST_INTERVAL_BYTES = 1 << 18
"""Not a Kafka setting. The bytes after which an index entry follows, however long ``index.interval.bytes`` is: a read
walks the batches from the last entry on.
"""

_INDEX_ENTRY_BYTES = OffsetIndex.entry.size
_TIME_INDEX_ENTRY_BYTES = TimeIndex.entry.size


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """Return the path of a file of the segment that starts at ``base_offset``."""
    return f"{directory}/{base_offset:020d}{suffix}"


class MisplacedBatch(CorruptBatch):
    """An undamaged batch with offsets that do not fit its place."""


class AppendedBatch(NamedTuple):
    """Position, last offset and largest timestamp of one batch in an appended buffer."""

    position: int
    last_offset: int
    max_timestamp: int


@attrs.define(eq=False)
class Ahead:
    """The bytes of the next append, as far as they are written behind the end of a segment."""

    buffer: Buffer
    header: bytes
    """The first header in ``buffer``. It has the offset, the epoch and the checksum, so it changes if they do."""
    written: int = 0

    def is_all_of(self, buffer: Buffer) -> bool:
        return buffer is self.buffer and self.written == len(buffer) and buffer[:HEADER_SIZE] == self.header


@attrs.define(eq=False)
class Segment:
    """A segment that is part of a log. Every method may raise OSError."""

    directory: str
    base_offset: int
    index_interval_bytes: int
    size: int
    next_offset: int
    index: OffsetIndex
    time_index: TimeIndex
    aborted: TransactionIndex
    _log: LazyFile
    max_timestamp: int = NO_TIMESTAMP
    max_timestamp_offset: int = -1
    """Last offset of the batch that reached ``max_timestamp`` first."""
    first_timestamp: int | None = None
    """Max timestamp of the first batch, from which ``segment.ms`` counts. None until it is needed."""
    created_ms: int | None = None
    """Time of the first ``age_ms`` call for a segment whose records have no timestamp."""
    recent: RecentBatches = attrs.field(factory=RecentBatches)
    was_cut: bool = False
    """Whether batches were cut off since the last flush. A power cut may restore them, even if no append followed."""
    _ahead: Ahead | None = attrs.field(default=None, init=False)

    @classmethod
    def load(cls, directory: str, base_offset: int, size: int, index_interval_bytes: int, suffix: str = "") -> Segment:
        """Look at the files of a segment. ``replay`` reads their batches."""
        index = OffsetIndex(segment_path(directory, base_offset, INDEX_SUFFIX) + suffix, base_offset)
        time_index = TimeIndex(segment_path(directory, base_offset, TIME_INDEX_SUFFIX) + suffix, base_offset)
        aborted = TransactionIndex(segment_path(directory, base_offset, TXN_INDEX_SUFFIX) + suffix)
        log = LazyFile(segment_path(directory, base_offset, LOG_SUFFIX) + suffix)
        interval_bytes = min(index_interval_bytes, _LONGEST_INTERVAL_BYTES)
        return cls(directory, base_offset, interval_bytes, size, base_offset, index, time_index, aborted, log)

    @classmethod
    def create(cls, directory: str, base_offset: int, index_interval_bytes: int, suffix: str = "") -> Segment:
        """Start an empty segment. ``remove_segment`` removes leftover files of its name, if there may be any."""
        segment = cls.load(directory, base_offset, 0, index_interval_bytes, suffix)
        assert segment.index.count == segment.time_index.count == 0, "the entries of a leftover would count"
        segment._log.create()
        return segment

    def twin(self) -> Segment:
        """Return a copy for another thread, which opens the log file by itself. It fails with FileNotFoundError once
        the log has retired the segment.
        """
        twin = copy(self)
        twin._log = LazyFile(self.path)
        return twin

    @property
    def path(self) -> str:
        return segment_path(self.directory, self.base_offset, LOG_SUFFIX)

    @property
    def file(self) -> OpenFile:
        """The log file. Hold it for as long as its descriptor is used."""
        return self._log.use()

    # -- Opening

    def indexes_are_sane(self) -> bool:
        """Whether both indexes exist and fit this log."""
        if not (self.index.exists and self.time_index.exists):
            return False
        if not (self.index.is_sane(self.size) and self.time_index.is_sane()):
            return False
        return self.index.count == 0 or self._starts_batch(self.index.last_position, self.index.last_offset)

    def _starts_batch(self, position: int, last_offset: int) -> bool:
        file = self.file
        try:
            return parse_header(os.pread(file.fileno(), HEADER_SIZE, position)).last_offset == last_offset
        except CorruptBatch:
            return False

    def replay(self, position: int, *, verify: bool) -> Iterator[BatchHeader]:
        """Read the batches from ``position`` on, yield their headers, and add index entries where they are due.

        Raises CorruptBatch at the first damaged batch; ``size`` is then its position.
        """
        end, self.size, file = self.size, position, self.file
        for at, header in walk(file.fileno(), position, end, verify=verify):
            last_offset = header.last_offset
            if header.base_offset < self.next_offset or not fits_index(last_offset, self.base_offset):
                raise MisplacedBatch(f"batch of offsets {header.base_offset} to {last_offset} is out of order")
            self._learn(at, last_offset, header.max_timestamp)
            self.size = at + header.size
            yield header

    def replay_tail(self, *, verify: bool) -> Iterator[BatchHeader]:
        """Replay the batches from the last one in the offset index on. As ``replay``."""
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last_timestamp, self.time_index.last_offset
        return self.replay(self.index.last_position, verify=verify)

    def replay_all(self, *, verify: bool) -> Iterator[BatchHeader]:
        """Rebuild both indexes from the log. As ``replay``."""
        self.index.cut(0)
        self.time_index.cut(0)
        self.max_timestamp, self.max_timestamp_offset, self.next_offset = NO_TIMESTAMP, -1, self.base_offset
        self.recent.clear()
        return self.replay(0, verify=verify)

    # -- Appending

    async def write_ahead(self, buffer: Buffer) -> None:
        """Write the bytes of the next ``append`` in pieces, while other tasks run.

        The segment does not contain them before that ``append``. Any other change of its end removes them, and the
        ``append`` then writes them again. A cancellation or an OSError leaves the segment unchanged.
        """
        self.drop_ahead()
        view = memoryview(buffer)
        ahead = self._ahead = Ahead(buffer, bytes(view[:HEADER_SIZE]))
        try:
            while ahead.written < len(view):
                piece, file = view[ahead.written : ahead.written + PIECE_BYTES], self.file
                write_all(file.fileno(), piece)
                ahead.written += len(piece)
                await next_slice()
                if self._ahead is not ahead:
                    return
        except BaseException:
            if self._ahead is ahead:
                self.drop_ahead()
            raise

    def drop_ahead(self) -> None:
        """Remove the bytes of ``write_ahead``, if there are any."""
        if self._ahead is not None:
            self._ahead, file = None, self.file
            os.ftruncate(file.fileno(), self.size)

    def append(self, buffer: Buffer, batches: Sequence[AppendedBatch]) -> None:
        """Append the batches in ``buffer``, which fill it. An OSError leaves the segment unchanged."""
        start, entries, time_entries, file = self.size, self.index.count, self.time_index.count, self.file
        before = self.max_timestamp, self.max_timestamp_offset, self.first_timestamp, self.next_offset
        try:
            if self._ahead is None or not self._ahead.is_all_of(buffer):
                self.drop_ahead()
                write_all(file.fileno(), buffer)
            self._ahead = None
            for batch in batches:
                self._learn(start + batch.position, batch.last_offset, batch.max_timestamp)
        except OSError:
            self.max_timestamp, self.max_timestamp_offset, self.first_timestamp, self.next_offset = before
            self.recent.truncate(start)
            os.ftruncate(file.fileno(), start)
            self.index.cut(entries)
            self.time_index.cut(time_entries)
            raise
        self.size = start + len(buffer)

    def _learn(self, position: int, last_offset: int, max_timestamp: int) -> None:
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = max_timestamp, last_offset
        if position - self.index.last_position > self.index_interval_bytes:
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self.index.append(last_offset, position)
        if position == 0:
            self.first_timestamp = max_timestamp
        self.recent.add(last_offset, position)
        self.next_offset = last_offset + 1

    def is_index_full(self, segment_index_bytes: int) -> bool:
        """Whether no further batch may be appended, so that neither index outgrows ``segment.index.bytes``."""
        return (
            self.index.count >= segment_index_bytes // _INDEX_ENTRY_BYTES
            or self.time_index.count >= segment_index_bytes // _TIME_INDEX_ENTRY_BYTES - 1
        )

    def age_ms(self, now_ms: int, max_timestamp: int) -> int:
        """Return the age for ``rolling.roll_ms``: by the timestamps of records, or else by the clock."""
        if self.first_timestamp is None and self.size:
            try:
                self.first_timestamp = next(self.headers())[1].max_timestamp
            except CorruptBatch:  # a reader of that batch gets the error, an append does not
                self.first_timestamp = NO_TIMESTAMP
        if self.first_timestamp is not None and self.first_timestamp >= 0:
            return max_timestamp - self.first_timestamp
        if self.created_ms is None:
            self.created_ms = now_ms
        return now_ms - self.created_ms

    def seal(self) -> None:
        """Complete the time index and close the indexes, because no batch follows for now."""
        self.drop_ahead()
        self._finish_time_index()
        self.index.seal()
        self.time_index.seal()
        self.aborted.close()
        self.recent.clear()

    def _finish_time_index(self) -> None:
        if self.max_timestamp >= 0:
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)

    # -- Reading

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of each batch from ``position``, the start of a batch. Raises CorruptBatch."""
        file = self.file
        yield from walk(file.fileno(), position, self.size, verify=False)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return (start, end) of the first batch that ends at or beyond ``offset``; (size, size) if there is none.

        Raises CorruptBatch.
        """
        if offset >= self.next_offset:
            return self.size, self.size
        known = self.recent.locate(offset, self.size)
        if known is not None:
            return known
        for position, header in self.headers(self.index.position_of(offset)):
            if header.last_offset >= offset:
                return position, position + header.size
        return self.size, self.size

    def read(self, offset: int, max_bytes: int, upper_bound: int, *, min_one_message: bool) -> FileSlice:
        """Return whole batches from the one that contains ``offset``; see ``Log.read``. Raises CorruptBatch."""
        start, first_end = self.locate(offset)
        limit = self.size if upper_bound >= self.next_offset else self.locate(upper_bound)[0]
        if start >= limit or (first_end - start > max_bytes and not min_one_message):
            return FileSlice(self.file, start, 0)
        end = limit
        if limit - start > max_bytes:
            end = max(first_end, self._boundary_at_most(start + max_bytes))
        return FileSlice(self.file, start, end - start)

    def _boundary_at_most(self, position: int) -> int:
        known = self.recent.boundary_at_most(position)
        return self.index.position_at_most(position) if known is None else known

    def end_offset_at(self, position: int) -> int:
        """Return the offset after the batch that ends at ``position``. Raises CorruptBatch."""
        if position >= self.size:
            return self.next_offset
        return next(self.headers(position))[1].base_offset

    # -- Shrinking and leaving

    def end_if_cut(self, offset: int) -> int:
        """Return the end offset without the batches that end at or beyond ``offset``. Raises CorruptBatch."""
        position, _ = self.locate(offset)
        return offset if position >= self.size else min(offset, next(self.headers(position))[1].base_offset)

    def truncate(self, end_offset: int) -> None:
        """Drop the batches from ``end_offset`` on, where a batch or a gap begins. Raises CorruptBatch."""
        position, _ = self.locate(end_offset)
        if position < self.size:
            self.cut(position, end_offset)
        self.next_offset = end_offset

    def cut(self, position: int, next_offset: int) -> None:
        """Drop everything from ``position``, the start of a batch."""
        self.index.truncate(next_offset)
        self.time_index.truncate(next_offset)
        self.aborted.truncate(next_offset)
        file, self._ahead = self.file, None
        os.ftruncate(file.fileno(), position)
        self.was_cut = True
        self.size, self.next_offset = position, self.base_offset
        if position == 0:
            self.first_timestamp = None
        self.recent.clear()
        for _ in self.replay_tail(verify=False):
            pass
        self.next_offset = max(next_offset, self.base_offset)

    def retire(self) -> list[str]:
        """Remove the segment from the log by renaming its files; return the new names for deletion."""
        self.close()
        return rename_segment(self.directory, self.base_offset, "", DELETED_SUFFIX)

    def close(self) -> None:
        """Close the files. Slices that are being sent stay readable."""
        self._ahead = None
        self.index.close()
        self.time_index.close()
        self.aborted.close()
        self._log.close()


def remove_segment(directory: str, base_offset: int, second_suffix: str) -> None:
    """Delete the files of a segment that exist. Raises OSError."""
    for suffix in SEGMENT_SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(segment_path(directory, base_offset, suffix) + second_suffix)


def rename_segment(directory: str, base_offset: int, old: str, new: str) -> list[str]:
    """Replace the second suffix of a segment's files; return the new names. Raises OSError.

    The log file is renamed last when a segment enters the log and first when it leaves. So a log file never exists
    without the indexes that belong to it.
    """
    suffixes = SEGMENT_SUFFIXES if new == DELETED_SUFFIX else SEGMENT_SUFFIXES[::-1]
    names = []
    for suffix in suffixes:
        path = segment_path(directory, base_offset, suffix)
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + old, path + new)
            names.append(path + new)
    return names
