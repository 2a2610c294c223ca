"""The segments of one log, in offset order: its files, and which of them are not durable yet.

The log interprets the records in them: offsets, epochs and producers.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter

from kraft.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from kraft.storage.errors import CorruptLog
from kraft.storage.flush import Flush
from kraft.storage.open_files import LazyFile
from kraft.storage.recovery import ADVICE
from kraft.storage.segment import LOG_SUFFIX, NEW_SUFFIX, SNAPSHOT_SUFFIX, Segment, remove_segment, segment_path
from kraft.storage.transaction_index import AbortedTransaction, overlapping
from kraft.wire.splice import FileSlice

by_base_offset = attrgetter("base_offset")


class Segments(list[Segment]):
    """Never empty once the log is open; the last one is active and takes appends. Any method may raise OSError.

    ``moved`` is true if files were created, renamed or deleted since the last flush. ``dropped`` are the renamed files
    of truncated segments; see ``take_dropped``.
    """

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = directory
        self.moved = False
        self.dropped: list[str] = []

    @property
    def active(self) -> Segment:
        return self[-1]

    def start(self, base_offset: int, index_interval_bytes: int) -> Segment:
        """Start a new active segment. No file may have its name."""
        segment = Segment.create(self.directory, base_offset, index_interval_bytes)
        self.append(segment)
        self.moved = True
        return segment

    def drop_begun_beyond(self, offset: int) -> bool:
        """Drop the active segment if it begins above the next batch, which has ``offset``. Return whether it did.

        A follower began it for a batch behind a gap, and could not write that batch. Raises OSError.
        """
        if len(self) == 1 or self.active.base_offset <= offset:
            return False
        self.drop([self.active])
        return True

    def path_of(self, offset: int) -> str:
        """The path of the segment that holds ``offset``."""
        return self[max(self._number_of(offset), 0)].path

    def batches_from(self, offset: int) -> Iterator[tuple[Segment, int, BatchHeader]]:
        """Yield every batch that ends at or beyond ``offset``, with its segment and position. Raises CorruptLog."""
        for segment in self:
            if segment.next_offset > offset:
                end, next_offset = segment.index.position_of(offset), max(offset, segment.base_offset)
                try:
                    for position, header in segment.headers(end):
                        end, next_offset = position + header.size, header.next_offset
                        if next_offset > offset:
                            yield segment, position, header
                except CorruptBatch as damage:
                    raise CorruptLog(segment.path, end, next_offset, str(damage), ADVICE) from damage

    def end_if_cut(self, offset: int) -> int:
        """Return the end offset without the batches that end at or beyond ``offset``, which is within the segments.

        Raises CorruptBatch.
        """
        return self[self._number_of(offset)].end_if_cut(offset)

    def truncate_to(self, end_offset: int) -> None:
        """Drop every batch at or beyond ``end_offset``, a result of ``end_if_cut``. Raises CorruptBatch."""
        self.drop(self[max(1, bisect_right(self, end_offset, key=by_base_offset)) :])
        self.active.truncate(end_offset)

    def drop(self, gone: Sequence[Segment]) -> None:
        """Remove the newest segments and rename their files, newest first. ``take_dropped`` then returns the files.

        A file of a GiB takes long to delete, so the owner of the log does that on a worker thread.
        """
        # The next flush syncs the directory, so that they cannot come back once their replacement is durable.
        self.moved = True
        for segment in reversed(gone):
            self.dropped += segment.retire()
            self.remove(segment)

    def start_over(self, base_offset: int, index_interval_bytes: int) -> None:
        """Drop all segments, and start an empty one, which may have the base offset of a dropped one.

        All segments stay if the disk has no room for its file. A kill meanwhile leaves the oldest segments, or none, or
        the new one: beside an older one it would end a hole.
        """
        path = segment_path(self.directory, base_offset, LOG_SUFFIX)
        LazyFile(path + NEW_SUFFIX).create()
        self.drop(self[1:])
        self.dropped += self.active.retire()
        remove_segment(self.directory, base_offset, "")  # leftovers of a crash
        os.replace(path + NEW_SUFFIX, path)
        self[:] = [Segment.load(self.directory, base_offset, 0, index_interval_bytes)]

    def take_dropped(self) -> list[str]:
        """Return the files that ``drop`` has renamed since the last call. The caller deletes them, or else the next
        start does.
        """
        taken, self.dropped = self.dropped, []
        return taken

    def aborted_in(self, piece: FileSlice, offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions in the offsets from ``offset`` to the end of ``piece``, a result of ``read``.

        A transaction may end in a later segment than the one that holds its records. Raises CorruptBatch.
        """
        number = max(self._number_of(offset), 0)
        entries = chain.from_iterable(segment.aborted.from_offset(offset) for segment in self[number:])
        first = next(entries, None)
        return [] if first is None else list(overlapping(chain([first], entries), self._end_of(piece)))

    def _end_of(self, piece: FileSlice) -> int:
        """Return the offset after the last batch of ``piece``."""
        first = parse_header(os.pread(piece.file.fileno(), HEADER_SIZE, piece.position))
        return self[self._number_of(first.base_offset)].end_offset_at(piece.position + piece.length)

    def _number_of(self, offset: int) -> int:
        return bisect_right(self, offset, key=by_base_offset) - 1

    def forget_aborted(self, recovery_point: int) -> int:
        """Drop the aborted transactions of the segments that are not durable, after a power cut. Return the offset from
        which they must be read from the log again.

        Entries beyond the last flush may have any content, so none of such a segment stays (``LogSegment.recover``).
        """
        uncertain = [segment for segment in self if segment is self.active or segment.next_offset > recovery_point]
        for segment in uncertain:
            segment.aborted.clear()
        return uncertain[0].base_offset

    def note_kill(self, recovery_point: int) -> bool:
        """Let the next flush include the indexes and the names that a killed process may not have flushed. Return
        whether there are any: recovery trusts the files below the recovery point, which that flush raises.
        """
        unflushed = [each for each in self if each.next_offset > recovery_point]
        for segment in unflushed:
            segment.index.is_unsynced = segment.time_index.is_unsynced = segment.aborted.is_unsynced = True
        self.moved = self.moved or bool(unflushed)
        return bool(unflushed)

    def begin_flush(
        self, recovery_point: int, offset: int, also: Sequence[str], cuts: int, *, at_stop: bool = False
    ) -> Flush:
        """Return the files to sync so that everything below ``offset`` is durable. Below ``recovery_point`` it is
        already.

        ``also`` are other replaced files of this directory. ``cuts`` is how often the log was truncated before. Only a
        flush ``at_stop`` includes the indexes of the active segment: recovery rebuilds them, unless the stop was clean.
        """
        due = [each for each in self if each.base_offset < offset and self._is_due(each, recovery_point, at_stop)]
        beside = []
        for segment in due:
            if at_stop or segment is not self.active:
                segment.index.is_unsynced = segment.time_index.is_unsynced = False
                producers = segment_path(self.directory, segment.next_offset, SNAPSHOT_SUFFIX)
                beside += [segment.index.path, segment.time_index.path, producers]
            if segment.aborted.is_unsynced:
                segment.aborted.is_unsynced = False
                beside.append(segment.aborted.path)
        has_new_names = self.moved or also or (at_stop and due)
        directories = (self.directory, os.path.dirname(self.directory)) if has_new_names else ()
        self.moved = False
        for segment in due:
            segment.was_cut = False
        return Flush(offset, tuple(segment.file for segment in due), (*beside, *also), directories, cuts)

    def _is_due(self, segment: Segment, recovery_point: int, at_stop: bool) -> bool:
        if segment.next_offset > recovery_point or segment.was_cut:
            return True
        indexes = segment.index, segment.time_index, segment.aborted
        return (at_stop or segment is not self.active) and any(index.is_unsynced for index in indexes)

    def close(self) -> None:
        """Close the files without a flush."""
        for segment in self:
            segment.close()
