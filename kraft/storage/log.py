"""The log of one partition: segments in offset order. The last segment is active and takes appends.

Only this module assigns offsets. One append is one write to the page cache; ``flush`` makes it durable. Reads return
slices of files, never data. A failed write leaves the log unchanged.

Methods run on the caller's thread. Only ``Flush.run`` may run on another thread while the log is used. An OSError means
that the disk is full or failing. A caller that gets one from ``Flush.run`` must stop using the directory, since the
kernel may have dropped the unwritten data.
"""

from __future__ import annotations

import errno
import logging
import os
from bisect import bisect_right
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack, suppress
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from kraft.broker.producer_state import ProducerStates
from kraft.config.topic import LogConfig
from kraft.records.batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptBatch,
    TimestampType,
    WritableBuffer,
    iter_headers,
    set_max_timestamp,
    stamp,
)
from kraft.storage import lookup, partition_metadata
from kraft.storage.cleaner import Cleaned, install
from kraft.storage.creation import create_directory
from kraft.storage.directory import LastStop
from kraft.storage.epochs import EpochStarts, LeaderEpochs
from kraft.storage.errors import CorruptLog
from kraft.storage.flush import Flush
from kraft.storage.index import NO_TIMESTAMP, fits_index
from kraft.storage.lookup import TimestampedOffset
from kraft.storage.producers import ProducerSnapshots, replay_marker
from kraft.storage.recovery import Recovery, load_segments
from kraft.storage.retention import deletable
from kraft.storage.rolling import roll_ms
from kraft.storage.segment import MAX_POSITION, AppendedBatch, Segment, remove_segment
from kraft.storage.segments import Segments, by_base_offset
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer
from kraft.world.world import InThread

logger = logging.getLogger("kraft.storage")

_max_timestamp_of = attrgetter("max_timestamp")


class AppendInfo(NamedTuple):
    """The offsets of an append. ``log_append_time_ms`` is -1 unless ``message.timestamp.type`` is LogAppendTime. Of a
    duplicate it is the largest timestamp, as in Kafka.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int


class Log:
    """One partition's log, in the directory ``<topic>-<partition>``. Any method may raise OSError."""

    def __init__(self, directory: str, config: LogConfig, *, roll_jitter_ms: int = 0) -> None:
        self.directory = directory
        self.config = config
        self.segments = Segments(directory)
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        """Everything below is durable."""
        self.recovery = Recovery()
        self.epochs = LeaderEpochs(directory)
        self.producers = ProducerStates()
        self.topic_id: UUID | None = None
        self.has_unsynced_id = False
        """Whether ``partition.metadata`` may not be durable yet. The first append syncs it, as in Kafka: a start sets
        records without an id aside. A flush before the append syncs it, too, even one up to offset 0.
        """
        self.cuts = 0
        """How often the log was truncated."""
        self.failure: OSError | None = None
        """The error of a failed flush, or of a failed append whose bytes could not be removed.

        From then on the log rejects appends and flushes, because the content of the disk is unknown."""
        self.is_closed = False
        """A closed log rejects appends and flushes, because its path may belong to another log by then."""
        self._unfinished: Flush | None = None
        self._roll_jitter_ms = roll_jitter_ms
        self._snapshots = ProducerSnapshots(directory)

    @classmethod
    def open(
        cls,
        parent: str | os.PathLike[str],
        name: str,
        config: LogConfig,
        *,
        now_ms: int,
        last_stop: LastStop = LastStop.CLEAN,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        roll_jitter_ms: int = 0,
        strict: bool = False,
    ) -> Log:
        """Open or create the log of the partition directory ``name``. ``log.recovery`` holds the repairs.

        ``recovery_point`` and ``log_start_offset`` come from the checkpoint files. A log that ends before its start is
        emptied, and continues at its start, as in Kafka (``LogLoader.recoverLog``). ``roll_jitter_ms``, a random number
        for ``segment.jitter.ms``, makes segments roll earlier. ``strict`` is for the metadata log: see ``recovery``.

        Raises CorruptLog for damage that only a person may repair.
        """
        directory = os.path.join(parent, name)
        log = cls(directory, config, roll_jitter_ms=roll_jitter_ms)
        try:
            create_directory(directory)
        except FileExistsError:
            with ExitStack() as undo:
                undo.callback(log.abandon)
                log._load(last_stop, recovery_point, log_start_offset, now_ms, strict=strict)
                undo.pop_all()
        else:
            log.segments.start(0, config.index_interval_bytes)  # a new directory has no leftovers
        return log

    def _load(
        self, last_stop: LastStop, recovery_point: int, log_start_offset: int, now_ms: int, *, strict: bool
    ) -> None:
        scanned = EpochStarts()
        segments, self.recovery = load_segments(
            self.directory, self.config.index_interval_bytes, last_stop, recovery_point, scanned.learn, strict=strict
        )
        self.segments.extend(segments)
        if not self.segments:
            self._start_segment(log_start_offset)
        elif (end := self.segments.active.next_offset) < log_start_offset:
            # A power cut took the tail. Readers know the offsets up to the start, so no other records may get them.
            what = "%s: the log ends at offset %d, before its start offset %d: all records that are left were deleted; "
            what += "the node drops them, and the next record gets the start offset"
            logger.warning(what, self.directory, end, log_start_offset)
            self.truncate_fully_and_start_at(log_start_offset)
            scanned = EpochStarts()
        self.log_end_offset = self.segments.active.next_offset
        self.log_start_offset = max(log_start_offset, self.segments[0].base_offset)
        self.recovery_point = min(recovery_point, self.log_end_offset)
        # After a power cut the file may be older than the last truncation. Recovery scanned every batch from there on.
        certain = self.recovery_point if last_stop is LastStop.POWER_LOST else self.log_end_offset
        everything = (header for _, _, header in self.segments.batches_from(self.log_start_offset))
        self.epochs.recover(scanned, certain, None if strict else everything)
        self.epochs.truncate_from_start(self.log_start_offset)
        if last_stop is LastStop.POWER_LOST:
            # A snapshot may outlive the index entries of the transactions before it. Both come from the log again.
            self._snapshots.forget_beyond(self.segments.forget_aborted(self.recovery_point))
        self.producers = self._snapshots.recover(self.segments, self.log_end_offset, now_ms)
        self._snapshots.keep_only({segment.base_offset for segment in self.segments})
        if last_stop is LastStop.KILLED and self.segments.note_kill(self.recovery_point):
            self.epochs.unsynced = True
        self.topic_id = partition_metadata.read_topic_id(self.directory)
        self.has_unsynced_id = self.topic_id is not None and not self.log_end_offset

    @property
    def size(self) -> int:
        """Size of the log files in bytes."""
        return sum(segment.size for segment in self.segments)

    @property
    def must_flush(self) -> bool:
        """Whether the log has ``flush.messages`` records since its last flush. The caller of an append looks at it."""
        return self.log_end_offset - self.recovery_point >= self.config.flush_messages

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write ``partition.metadata``. The next flush makes it durable, or the first append."""
        partition_metadata.write_topic_id(self.directory, topic_id)
        self.has_unsynced_id = True
        self.topic_id = topic_id

    # -- Appending

    def append_as_leader(
        self, buffer: WritableBuffer, headers: Sequence[tuple[int, BatchHeader]], leader_epoch: int, now_ms: int
    ) -> AppendInfo:
        """Append checked batches, which fill ``buffer``, and write their offsets into ``buffer``.

        ``headers`` are the values of ``iter_headers(buffer)``. The caller has checked idempotent producers with
        ``producers.check``; this method records their appends. Raises KafkaError RECORD_LIST_TOO_LARGE for more than
        ``segment.bytes``.
        """
        base_offset = self.log_end_offset
        batches, stamped, append_time_ms = self._stamped(buffer, headers, leader_epoch, now_ms)
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, base_offset)
        self._append(buffer, batches, base_offset, now_ms)
        self._remember(buffer, stamped, now_ms, len(batches))
        return AppendInfo(base_offset, self.log_end_offset - 1, append_time_ms, self.log_start_offset)

    async def write_ahead_as_leader(
        self, buffer: WritableBuffer, headers: Sequence[tuple[int, BatchHeader]], leader_epoch: int, now_ms: int
    ) -> None:
        """Write the bytes of the next ``append_as_leader`` with the same arguments, in pieces, while other tasks run.

        No reader sees them before that append; a start after a kill may keep whole batches of them. Another append
        meanwhile removes them.
        """
        batches, _, _ = self._stamped(buffer, headers, leader_epoch, now_ms)
        await self._write_ahead(buffer, batches, self.log_end_offset, now_ms)

    async def write_ahead_as_follower(self, buffer: Buffer, now_ms: int) -> None:
        """Do the same as ``write_ahead_as_leader`` before ``append_as_follower``. Raises as that."""
        headers, batches = self._following(buffer)
        if headers:
            await self._write_ahead(buffer, batches, headers[0][1].base_offset, now_ms)

    def drop_ahead(self) -> None:
        """Remove what was written ahead, if no append follows."""
        self.segments.active.drop_ahead()

    async def _write_ahead(
        self, buffer: Buffer, batches: Sequence[AppendedBatch], base_offset: int, now_ms: int
    ) -> None:
        active = self._segment_for(buffer, batches, base_offset, now_ms)
        try:
            await active.write_ahead(buffer)
        except OSError as failure:
            self._check_remains(active, failure)
            raise

    def _stamped(
        self, buffer: WritableBuffer, headers: Sequence[tuple[int, BatchHeader]], leader_epoch: int, now_ms: int
    ) -> tuple[list[AppendedBatch], list[tuple[int, BatchHeader]], int]:
        """Write the offsets of the next append into ``buffer``. Return its batches, the headers of those with a
        producer, and the append time or -1.
        """
        if len(buffer) > self.config.segment_bytes:
            message = f"{len(buffer)} bytes in one append, segment.bytes is {self.config.segment_bytes}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, message)
        append_time_ms = now_ms if self.config.message_timestamp_type == "LogAppendTime" else NO_TIMESTAMP
        offset = self.log_end_offset
        batches: list[AppendedBatch] = []
        stamped: list[tuple[int, BatchHeader]] = []
        for position, header in headers:
            stamp(buffer, position, offset, leader_epoch)
            if append_time_ms >= 0:
                header = set_max_timestamp(buffer, position, header, TimestampType.LOG_APPEND_TIME, append_time_ms)
            if header.producer_id != NO_PRODUCER_ID:
                stamped.append((position, header._replace(base_offset=offset, leader_epoch=leader_epoch)))
            last_offset = offset + header.last_offset_delta
            batches.append(AppendedBatch(position, last_offset, header.max_timestamp))
            offset = last_offset + 1
        return batches, stamped, append_time_ms

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> None:
        """Append checked batches that already have their offsets and epochs. Gaps between them are kept.

        Raises KafkaError OFFSET_OUT_OF_RANGE if the offsets do not rise from the end of the log, CorruptBatch for
        broken headers.
        """
        headers, batches = self._following(buffer)
        if not headers:
            return
        self.epochs.assign_all((header.leader_epoch, header.base_offset) for _, header in headers)
        self._append(buffer, batches, headers[0][1].base_offset, now_ms)
        with_producer = [each for each in headers if each[1].producer_id != NO_PRODUCER_ID]
        self._remember(buffer, with_producer, now_ms, len(batches))

    def _following(self, buffer: Buffer) -> tuple[list[tuple[int, BatchHeader]], list[AppendedBatch]]:
        headers = list(iter_headers(buffer))
        batches: list[AppendedBatch] = []
        end = self.log_end_offset
        for position, header in headers:
            if header.base_offset < end:
                message = f"batch of offset {header.base_offset}, the log {self.directory} ends at {end}"
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
            end = header.next_offset
            batches.append(AppendedBatch(position, end - 1, header.max_timestamp))
        return headers, batches

    def append_checked(
        self, buffer: Buffer, batches: Sequence[AppendedBatch], epochs: Sequence[tuple[int, int]], now_ms: int
    ) -> None:
        """Append batches, which fill ``buffer``, without checking them again.

        The caller has just made or checked them all. Each batch begins where the previous one ends, the first at the
        end of the log. No batch has a producer id. ``epochs`` is (epoch, start offset) of each run of one epoch.
        """
        self.epochs.assign_all(epochs)
        self._append(buffer, batches, self.log_end_offset, now_ms)
        self._snapshots.appended(len(batches), self.producers, self.log_end_offset)

    def _append(self, buffer: Buffer, batches: Sequence[AppendedBatch], base_offset: int, now_ms: int) -> None:
        active = self._segment_for(buffer, batches, base_offset, now_ms)
        try:
            active.append(buffer, batches)
        except OSError as failure:
            self._check_remains(active, failure)
            raise
        self.log_end_offset = active.next_offset

    def _segment_for(self, buffer: Buffer, batches: Sequence[AppendedBatch], base_offset: int, now_ms: int) -> Segment:
        """Return the segment that takes the append."""
        self._check_sound()
        if self.has_unsynced_id:
            self.flush_at_once(0)
        if self.segments.drop_begun_beyond(base_offset):
            self._snapshots.forget_beyond(base_offset)
            return self.roll(base_offset)
        active = self.segments[-1]
        # Compaction moves no log start, so the first batch of a new replica may be far beyond its empty segment.
        fits = fits_index(batches[-1].last_offset, active.base_offset)
        if not fits or (active.size and self._must_roll(active, len(buffer), batches, now_ms)):
            active = self.roll(base_offset)
        return active

    def _check_remains(self, active: Segment, failure: OSError) -> None:
        if os.stat(active.path).st_size != active.size:
            self.failure = failure  # later appends would follow the remaining bytes

    def _check_sound(self) -> None:
        if self.failure is not None:
            raise OSError(self.failure.errno, "an earlier write failed", self.directory)
        if self.is_closed:
            raise FileNotFoundError(errno.ENOENT, "the log is closed", self.directory)

    def flush_at_once(self, offset: int | None = None) -> None:
        """Flush, and wait for the disk. After a failure the log rejects appends. Raises OSError."""
        try:
            self.flush(offset)
        except OSError as failure:
            self.failure = failure
            raise

    def _must_roll(self, active: Segment, added_bytes: int, batches: Sequence[AppendedBatch], now_ms: int) -> bool:
        config, size = self.config, active.size + added_bytes
        if size > config.segment_bytes or size > MAX_POSITION:
            return True
        max_timestamp = max(map(_max_timestamp_of, batches))
        if active.age_ms(now_ms, max_timestamp) > roll_ms(config, self._roll_jitter_ms):
            return True
        return active.is_index_full(config.segment_index_bytes)

    def _remember(
        self, buffer: Buffer, with_producer: list[tuple[int, BatchHeader]], now_ms: int, batches: int
    ) -> None:
        for position, header in with_producer:
            if header.is_control:
                try:
                    replay_marker(self.producers, self.segments.active, buffer, position, header, now_ms)
                except OSError as failure:
                    self.failure = failure  # the log holds an abort that its index lacks: the next start adds it
                    raise
            else:
                self.producers.append(header, now_ms)
        self._snapshots.appended(batches, self.producers, self.log_end_offset)

    def roll(self, base_offset: int | None = None) -> Segment:
        """Seal the active segment and start a new one at the end of the log, or at ``base_offset`` beyond it."""
        base_offset = self.log_end_offset if base_offset is None else base_offset
        if self.segments and self.segments.active.base_offset == base_offset:
            return self.segments.active
        self._snapshots.write_for_segment(self.producers, base_offset)
        sealed = self.segments.active
        try:
            sealed.seal()
            started = self._start_segment(base_offset)
        except OSError:
            self._snapshots.forget_beyond(self.log_end_offset)  # the next batches may fill the gap before it
            raise
        # The old segment includes the gap before the new one, so that segments cover all offsets.
        sealed.next_offset = base_offset
        return started

    def _start_segment(self, base_offset: int) -> Segment:
        remove_segment(self.directory, base_offset, "")  # leftovers of a crash
        return self.segments.start(base_offset, self.config.index_interval_bytes)

    # -- Reading

    def read(self, offset: int, max_bytes: int, upper_bound: int, *, min_one_message: bool = True) -> FileSlice:
        """Return whole batches from the one that contains ``offset`` on, all of them below ``upper_bound``.

        The slice has at most ``max_bytes``, but with ``min_one_message`` it always contains the first batch. The first
        batch may begin below ``offset``. The slice is empty if no batch is available yet. Raises KafkaError
        OFFSET_OUT_OF_RANGE outside of the log, CORRUPT_MESSAGE where the log is damaged.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            message = f"offset {offset} is not within {self.log_start_offset} to {self.log_end_offset}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        segments = self.segments
        number = len(segments) - 1
        if offset < segments[number].base_offset:
            number = bisect_right(segments, offset, key=by_base_offset) - 1
        try:
            piece = segments[number].read(offset, max_bytes, upper_bound, min_one_message=min_one_message)
            # Compaction can remove the last offsets of a segment.
            while not piece.length and piece.position == segments[number].size and number + 1 < len(segments):
                number += 1
                piece = segments[number].read(offset, max_bytes, upper_bound, min_one_message=min_one_message)
        except CorruptBatch as damage:
            where = f"{segments[number].path}: damaged near offset {offset}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {damage}") from damage
        return piece

    async def offset_for_timestamp(self, timestamp: int, compute: InThread) -> TimestampedOffset | None:
        """Return the first record at or after ``timestamp`` (ms), or None. Raises KafkaError as ``read``.

        Works in slices, so the log may change meanwhile. ``compute`` decompresses large batches.
        """
        return await self._look_up(lookup.first_at_or_after(self.segments, timestamp, self.log_start_offset, compute))

    async def newest_record(self, compute: InThread) -> TimestampedOffset | None:
        """Return the first record with the largest timestamp (ListOffsets -3), or None. As ``offset_for_timestamp``."""
        return await self._look_up(lookup.newest(self.segments, compute))

    async def _look_up(self, search: Awaitable[TimestampedOffset | None]) -> TimestampedOffset | None:
        try:
            return await search
        except CorruptBatch as damage:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self.directory}: {damage}") from damage

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (largest known epoch not above ``epoch``, its end offset) or (-1, -1), as OffsetForLeaderEpoch."""
        return self.epochs.end_offset(epoch, self.log_end_offset)

    # -- Shrinking

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drop every batch that ends at or beyond ``offset``, as a follower whose log diverged (KIP-101).

        Raises CorruptBatch, KafkaError CORRUPT_MESSAGE where the log is damaged.
        """
        if offset >= self.log_end_offset:
            # A leader that lost its epoch before it appended still has an entry for that epoch. No other replica has
            # one.
            self.epochs.truncate_from_end(self.log_end_offset)
            return
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        end = self.segments.end_if_cut(offset)
        self.cuts += 1
        self.segments.truncate_to(end)
        self.log_end_offset = end
        self.recovery_point = min(self.recovery_point, self.log_end_offset)
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        try:
            self.producers = self._snapshots.recover(self.segments, self.log_end_offset, now_ms)
        except CorruptLog as damage:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(damage)) from damage
        # Last, because a full disk refuses it. The caller truncates again, and then only the epochs are left.
        self.epochs.truncate_from_end(self.log_end_offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and continue at ``offset``, for a follower that is behind the start of the leader's log.

        The records stay if the disk has no room for a new file.
        """
        self.cuts += 1
        self._snapshots.clear()  # first, since the new log must not begin with these producers
        self.segments.start_over(offset, self.config.index_interval_bytes)
        self.producers = ProducerStates()
        self.log_start_offset = self.log_end_offset = offset
        # Until the next flush a power cut can bring the old segments back.
        self.recovery_point = min(self.recovery_point, offset)
        self.epochs.clear()  # last, as in ``truncate_to``

    def end_if_cut(self, offset: int) -> int:
        """Return the end offset after ``truncate_to``, which drops whole batches only. Raises CorruptBatch."""
        if self.segments[0].base_offset <= offset < self.log_end_offset:
            return self.segments.end_if_cut(offset)
        return min(offset, self.log_end_offset)

    def delete_records(self, offset: int) -> None:
        """Move the log start offset to ``offset``. ``delete_old_segments`` later removes whole segments below it.

        Raises KafkaError OFFSET_OUT_OF_RANGE for an offset beyond the end of the log.
        """
        if offset > self.log_end_offset:
            message = f"offset {offset} is beyond the end of the log, {self.log_end_offset}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            try:
                self.epochs.truncate_from_start(offset)
            except OSError as error:  # a full disk must not keep records that are to free it; the next start trims them
                logger.warning("%s keeps entries below offset %d: %s", self.epochs.path, offset, error)

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> list[str]:
        """Remove the segments from the log that retention no longer keeps.

        Returns the renamed files. The caller deletes them after ``file.delete.delay.ms``, since readers may still use
        them.
        """
        count = deletable(self.segments, self.config, self.log_start_offset, now_ms, high_watermark)
        if count == 0:
            return []
        if count == len(self.segments):
            try:
                self.roll()
            except OSError:
                if count == 1:
                    raise
                count -= 1  # the older segments make room on a full disk
        gone = self.segments[:count]
        self.delete_records(max(self.log_start_offset, self.segments[count].base_offset))
        del self.segments[:count]
        self._snapshots.keep_only({segment.base_offset for segment in self.segments})
        return [path for segment in gone for path in segment.retire()]

    def replace_segments(self, cleaned: Cleaned) -> list[str]:
        """Put compacted segments in place; return files to delete later, as ``delete_old_segments``."""
        paths = [path for group in cleaned.groups for path in install(self.segments, group)]
        self._snapshots.keep_only({segment.base_offset for segment in self.segments})
        self.segments.moved = True
        return paths

    # -- Durability

    def flush(self, offset: int | None = None) -> None:
        """Make everything below ``offset`` (default: the end) durable."""
        flush = self.begin_flush(offset)
        flush.run()
        self.flushed(flush)

    def begin_flush(self, offset: int | None = None, *, at_stop: bool = False) -> Flush:
        """Return the files to sync. The caller runs the flush on any thread and then calls ``flushed``.

        Raises OSError if a write has failed before, because a kernel reports lost writes only once.
        """
        self._check_sound()
        offset = self.log_end_offset if offset is None else min(offset, self.log_end_offset)
        replaced = [self.epochs.path] if self.epochs.unsynced else []
        if self.has_unsynced_id:
            replaced.append(partition_metadata.path_in(self.directory))
        self.epochs.unsynced = False
        flush = self.segments.begin_flush(self.recovery_point, offset, replaced, self.cuts, at_stop=at_stop)
        if self._unfinished is not None:
            flush = flush.including(self._unfinished)
        self._unfinished = flush
        return flush

    def flushed(self, flush: Flush) -> None:
        """Raise the recovery point after ``flush`` has run.

        If the log was truncated meanwhile, other records may be at the synced offsets, so the recovery point stays.
        """
        if self._unfinished is flush:
            self._unfinished = None
        if partition_metadata.path_in(self.directory) in flush.paths:
            self.has_unsynced_id = False
        if flush.cuts == self.cuts:
            self.recovery_point = max(self.recovery_point, flush.end_offset)

    def complete(self) -> None:
        """Complete the indexes and write the producers, before a controlled stop. The log may go on."""
        self.segments.active.seal()
        self._snapshots.write_for_segment(self.producers, self.log_end_offset)

    def begin_close(self) -> Flush:
        """Complete the log and reject appends from now on.

        The caller runs the flush on any thread, and then calls ``flushed`` and ``abandon``.
        """
        self.complete()
        flush = self.begin_flush(at_stop=True)
        self.is_closed = True
        return flush

    def close(self) -> None:
        """Close the log in a controlled stop, and wait for the disk."""
        flush = self.begin_close()
        flush.run()
        self.flushed(flush)
        self.abandon()

    def abandon(self) -> None:
        """Close the files without a flush, because the log is deleted or its disk has failed."""
        self.is_closed = True
        self.segments.close()


def remove_files(paths: Sequence[str]) -> None:
    """Delete files of ``delete_old_segments`` or ``take_dropped``. Absent files are ignored. Raises OSError."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
