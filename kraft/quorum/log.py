"""The metadata log on disk: ``__cluster_metadata-0`` with its batches and its snapshots (KIP-595, KIP-630).

The log begins at offset 0 or at the end of a snapshot. A snapshot that the log does not hold came from a leader and
replaces the log; a start restores this state after any crash. The bytes are Apache Kafka's: a leader encodes batches,
and a follower appends the bytes that it fetched.

Uses no Raft core and no clock. Methods run on the caller's thread unless documented otherwise.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from kraft.config.topic import LogConfig
from kraft.metadata.delta import MetadataError, UnsupportedMetadata
from kraft.metadata.frame import decode_record
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.quorum.batches import (
    FetchedBatches,
    check_fetched,
    encoded_batches,
    leader_change_batch,
    log_slice,
)
from kraft.quorum.recovery import settle
from kraft.quorum.snapshots import MetadataSnapshots
from kraft.quorum.support import require_supported
from kraft.raft.events import LeaderChange, StoreChunk
from kraft.raft.log_view import LogView
from kraft.raft.messages import EpochEnd, LogSlice, SnapshotId
from kraft.records.batch import BatchHeader, CorruptBatch, check_batch, iter_headers
from kraft.records.record import read_records
from kraft.storage.directory import LastStop
from kraft.storage.errors import REJOIN_ADVICE, StorageError, UnsupportedFormat
from kraft.storage.flush import Flush
from kraft.storage.log import Log, remove_files
from kraft.storage.segment import AppendedBatch
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION, METADATA_TOPIC_ID
from kraft.wire.varint import Buffer

_NO_LIMIT = -1
_READ_BYTES = 2**17
_BATCHES_IN_MEMORY = 1_000
_BYTES_IN_MEMORY = 8 * 2**20
_BATCHES_PER_FETCH = 1_000
"""Not a Kafka setting. The most batches for one Fetch: ten milliseconds of work for the leader, as for the follower. An
idle leader appends a batch of 72 bytes every half second, so a few bytes may be many batches.
"""


@attrs.frozen
class MetadataBatch:
    """One batch of the metadata log. ``records`` is empty for a control batch, which only the quorum reads.

    ``size`` is its size in the log, in bytes.
    """

    base_offset: int
    last_offset: int
    epoch: int
    timestamp_ms: int
    records: tuple[Any, ...]
    size: int

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1


@attrs.frozen
class Unit:
    """Metadata records that are appended together, as objects and as bytes, in batches of at most MAX_BATCH_RECORDS."""

    batches: Sequence[MetadataBatch]
    data: bytes

    @property
    def epoch(self) -> int:
        """The epoch of the leader that appends it."""
        return self.batches[0].epoch

    @property
    def base_offset(self) -> int:
        return self.batches[0].base_offset

    @property
    def next_offset(self) -> int:
        return self.batches[-1].next_offset


class MetadataLog:
    """The files of the metadata log. The driver of the quorum owns them. Any method may raise OSError.

    ``write_snapshot``, ``complete_snapshot``, ``load_snapshot`` and the ``run`` of a flush may run on a worker thread.
    """

    def __init__(self, log: Log, snapshots: MetadataSnapshots, begins_at: SnapshotId, config: LogConfig) -> None:
        self.directory = log.directory
        self._log = log
        self._snapshots = snapshots
        self._begins_at = begins_at
        self._config = config
        self._recent: deque[MetadataBatch] = deque()
        self._recent_bytes = 0
        self._newest: Unit | None = None

    @classmethod
    def open(cls, parent: str, config: LogConfig, *, now_ms: int, last_stop: LastStop = LastStop.KILLED) -> MetadataLog:
        """Open or create the log below ``parent``. All its content is durable when this returns.

        ``retention_ms`` and ``retention_bytes`` of ``config`` are the values of ``metadata.max.retention.*``. They
        apply to snapshots; segments are deleted with them.

        Raises:
            StorageError: Damage that only a person may repair.
            UnsupportedFormat: Levels that this node does not know. Nothing was written.
        """
        require_supported(os.path.join(parent, CLUSTER_METADATA_PARTITION))
        log = Log.open(
            parent,
            CLUSTER_METADATA_PARTITION,
            attrs.evolve(config, retention_ms=_NO_LIMIT, retention_bytes=_NO_LIMIT),
            now_ms=now_ms,
            # Votes depend on the last batch, so it is checked after a controlled stop, too.
            last_stop=LastStop.KILLED if last_stop is LastStop.CLEAN else last_stop,
            strict=True,
        )
        with contextlib.ExitStack() as undo:
            undo.callback(log.abandon)
            snapshots = MetadataSnapshots(log.directory)
            begins_at = settle(log, snapshots)
            snapshots.delete_before(begins_at)
            if log.topic_id is None:
                log.assign_topic_id(METADATA_TOPIC_ID)
            log.flush()
            undo.pop_all()
        return cls(log, snapshots, begins_at, config)

    @property
    def recovery(self) -> str:
        """The repairs at opening, as text for the node's log; empty if there were none."""
        return str(self._log.recovery)

    @property
    def start_offset(self) -> int:
        """The first offset of the log. Earlier records are in a snapshot."""
        return self._begins_at.end_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def has_records(self) -> bool:
        """Whether there is any metadata, committed or not, in a snapshot or in the log."""
        batches = self._log.segments.batches_from(self.start_offset)
        return self.snapshot is not None or any(not header.is_control for _, _, header in batches)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record. In an empty log, the epoch of the record before its start."""
        return max(self._log.epochs.epoch_at(self.end_offset - 1), self._begins_at.epoch)

    @property
    def last_timestamp_ms(self) -> int | None:
        """The time of the last record by the clock of its leader, in milliseconds.

        None if the log is empty or if that record is damaged. A reader of the record reports the damage.
        """
        if self.end_offset == self.start_offset:
            return None
        try:
            data = self._bytes(self.end_offset - 1, 1, self.end_offset)
            return next((header.max_timestamp for _, header in iter_headers(data)), None)
        except (CorruptBatch, StorageError):
            return None

    @property
    def snapshot(self) -> SnapshotId | None:
        """The newest snapshot."""
        return max(self._snapshots.all(), default=None)

    def view(self) -> LogView:
        """Return the log as the Raft core sees it."""
        epochs = [(epoch, start) for epoch, start in self._log.epochs.entries if start < self.end_offset]
        return LogView(epochs, self.end_offset, *self._begins_at, self.snapshot)

    # Appending.

    def encode(self, records: Sequence[Any], epoch: int, timestamp_ms: int, *, is_atomic: bool = False) -> Steps[Unit]:
        """Encode metadata records as one unit for ``append`` by the leader of ``epoch``, in steps.

        An atomic unit is one batch. Of another one, a crash may leave the first batches.

        Raises KafkaError RECORD_LIST_TOO_LARGE for a record that fits in no batch, or an atomic unit that needs two.
        """
        batches: list[MetadataBatch] = []
        buffer = bytearray()
        offset = self.end_offset
        parts = yield from encoded_batches(records, offset, epoch, timestamp_ms)
        if is_atomic and len(parts) > 1:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"{len(records)} metadata records fit in no batch")
        for part, data in parts:
            last_offset = offset + len(part) - 1
            batches.append(MetadataBatch(offset, last_offset, epoch, timestamp_ms, tuple(part), len(data)))
            buffer += data
            offset = last_offset + 1
        return Unit(batches, bytes(buffer))

    def append(self, unit: Unit) -> None:
        """Append a unit of ``encode``. Nothing else may have been appended since."""
        first = unit.batches[0]
        assert unit.base_offset == self._log.log_end_offset, "what was encoded no longer continues the log"
        position = 0
        batches: list[AppendedBatch] = []
        for batch in unit.batches:
            batches.append(AppendedBatch(position, batch.last_offset, batch.timestamp_ms))
            position += batch.size
        self._log.append_checked(unit.data, batches, [(first.epoch, first.base_offset)], first.timestamp_ms)
        for batch in unit.batches:
            self._remember(batch)
        self._newest = unit

    def append_leader_change(self, change: LeaderChange, timestamp_ms: int) -> None:
        """Append the control record that opens an epoch."""
        offset = self.end_offset
        data = leader_change_batch(change, offset, timestamp_ms)
        self.append(Unit([MetadataBatch(offset, offset, change.epoch, timestamp_ms, (), len(data))], data))

    def check_fetched(self, data: Buffer, epoch: int) -> Steps[FetchedBatches | None]:
        """Check batches from the leader of ``epoch``, in steps. Return the whole ones, or None if there is none.

        Raises:
            CorruptBatch: The batches are damaged or do not continue this log.
            UnsupportedFormat: The batches make the voters dynamic.
        """
        return check_fetched(data, self.end_offset, self.last_epoch, epoch)

    def append_fetched(self, fetched: FetchedBatches, timestamp_ms: int) -> None:
        """Append batches that ``check_fetched`` returned. Raises StorageError if they do not continue this log."""
        if fetched.follows != (self.last_epoch, self.end_offset):
            checked = f"fetched batches were checked for a log that ends at {fetched.follows}"
            raise StorageError(f"{self.directory}: {checked}, and it ends at {self.last_epoch, self.end_offset}")
        self._log.append_checked(fetched.data, fetched.batches, fetched.epochs, timestamp_ms)
        self._forget_recent()

    def _remember(self, batch: MetadataBatch) -> None:
        self._recent.append(batch)
        self._recent_bytes += batch.size
        while len(self._recent) > _BATCHES_IN_MEMORY or self._recent_bytes > _BYTES_IN_MEMORY:
            self._recent_bytes -= self._recent.popleft().size

    def _forget_recent(self) -> None:
        self._recent.clear()
        self._recent_bytes = 0
        self._newest = None

    # Reading.

    def read(self, offset: int, max_bytes: int) -> tuple[bytes, LogSlice | None]:
        """Return at least one batch from ``offset`` on and its offsets and epochs, for a follower; (b"", None) at the
        end.

        The newest unit of this node comes from memory. All other batches, some thousand at most, are read from the file
        and checked, because a leader with a damaged log must not go on to send it.

        Raises:
            StorageError: The log is damaged there.
            KafkaError: OFFSET_OUT_OF_RANGE if ``offset`` is outside the log.
        """
        newest = self._newest
        if newest is not None and newest.base_offset == offset and len(newest.data) <= max_bytes:
            return newest.data, LogSlice(offset, (EpochEnd(newest.batches[0].epoch, newest.next_offset),))
        data = self._bytes(offset, max_bytes, self.end_offset)
        headers: list[BatchHeader] = []
        try:
            for position, header in _checked(data, offset):
                if len(headers) == _BATCHES_PER_FETCH:
                    data = data[:position]
                    break
                headers.append(header)
                offset = header.next_offset
        except CorruptBatch as damage:
            raise self.damaged(offset, damage) from damage
        return data, log_slice(headers)

    def batches(self, offset: int, limit: int) -> Steps[tuple[MetadataBatch, ...]]:
        """Return batches between ``offset``, where one begins, and ``limit`` (exclusive), as many as one read gives.

        Older ones are decoded in steps.

        Raises the errors of ``read``.
        """
        if self._recent and self._recent[0].base_offset <= offset:
            newest_first = itertools.takewhile(lambda batch: batch.base_offset >= offset, reversed(self._recent))
            return tuple(batch for batch in newest_first if batch.last_offset < limit)[::-1]
        data = self._bytes(offset, _READ_BYTES, limit)
        found: list[MetadataBatch] = []
        try:
            for position, header in _checked(data, offset):
                records = yield from _decoded(data, position, header)
                epoch, timestamp_ms = header.leader_epoch, header.max_timestamp
                batch = MetadataBatch(header.base_offset, header.last_offset, epoch, timestamp_ms, records, header.size)
                found.append(batch)
                offset = batch.next_offset
        except (CorruptBatch, MetadataError) as damage:
            raise self.damaged(offset, damage) from damage
        return tuple(found)

    def _bytes(self, offset: int, max_bytes: int, limit: int) -> bytes:
        try:
            piece = self._log.read(offset, max_bytes, limit)
        except KafkaError as error:
            if error.code is ErrorCode.CORRUPT_MESSAGE:
                raise self.damaged(offset, error) from error
            raise
        if piece.length > MAX_READ_BATCH_BYTES:
            what = f"a batch of {piece.length} bytes; no more than {MAX_READ_BATCH_BYTES} are read"
            raise self.damaged(offset, CorruptBatch(what))
        return piece.copy()

    def damaged(self, offset: int, damage: Exception) -> StorageError:
        """Return the error for records from ``offset`` on that cannot be read or replayed."""
        path = self._log.segments.path_of(offset)
        if isinstance(damage, UnsupportedMetadata):
            return UnsupportedFormat(f"{path}: at offset {offset}: {damage}")
        return StorageError(f"{path}: damaged at offset {offset}: {damage}; {REJOIN_ADVICE}")

    # Shrinking.

    def truncate(self, end_offset: int) -> None:
        """Truncate the log where it diverges from the leader's.

        Raises StorageError if no batch ends there, or if the log is damaged.
        """
        self._forget_recent()
        try:
            self._log.truncate_to(end_offset, 0)
        except (CorruptBatch, KafkaError) as damage:
            raise self.damaged(end_offset, damage) from damage
        remove_files(self._log.segments.take_dropped())
        if self.end_offset != end_offset:
            what = f"cannot truncate the log at {end_offset}, no batch ends there"
            raise StorageError(f"{self.directory}: {what}; this node stops, and fetches again after a restart")

    def install(self, snapshot: SnapshotId) -> None:
        """Replace the log by an empty one that begins at the end of a stored snapshot."""
        self._forget_recent()
        self._log.truncate_fully_and_start_at(snapshot.end_offset)
        remove_files(self._log.segments.take_dropped())
        self._begins_at = snapshot
        self._snapshots.delete_before(snapshot)

    def retention_candidate(self, now_ms: int, high_watermark: int) -> SnapshotId | None:
        """Return a snapshot to trim the log to, if the log exceeds ``metadata.max.retention.*``, else None.

        The newest snapshot always stays, and the log is only trimmed where it is durable, and below the high watermark:
        a leader's snapshot that the core has not installed may reach beyond it. Call again after ``trim``.
        """
        config = self._config
        snapshot = self._snapshots.surplus(
            self._log.size, self.start_offset, now_ms, config.retention_bytes, config.retention_ms
        )
        limit = min(self._log.recovery_point, high_watermark)
        return snapshot if snapshot is not None and snapshot.end_offset <= limit else None

    def trim(self, snapshot: SnapshotId) -> None:
        """Let the log begin at the end of ``snapshot``. Deletes older snapshots, and the segments that it covers
        completely.
        """
        assert self.start_offset <= snapshot.end_offset <= self.end_offset, "a log is trimmed inside of what it holds"
        self._log.delete_records(snapshot.end_offset)
        self._begins_at = snapshot
        self._newest = None  # It may now lie before the start.
        remove_files(self._log.delete_old_segments(0, snapshot.end_offset))
        self._snapshots.delete_before(snapshot)

    # Durability.

    def begin_flush(self) -> Flush:
        """Return the flush of all records so far. Call its ``run`` on any thread, then ``flushed``."""
        return self._log.begin_flush()

    def flushed(self, flush: Flush) -> None:
        """Note that a flush has run."""
        self._log.flushed(flush)

    def close(self) -> None:
        """Make everything durable and close the files: a controlled stop."""
        self._log.close()

    def abandon(self) -> None:
        """Close the files without a flush, because the disk has failed."""
        self._log.abandon()

    # Snapshots.

    def write_snapshot(self, image: Image, let_go: Callable[[], None] = lambda: None) -> SnapshotId:
        """Write a snapshot of ``image`` durably. May run on any thread, and lets go of the interpreter's lock."""
        return self._snapshots.write(image, let_go)

    def load_snapshot(self, snapshot: SnapshotId) -> Image:
        """Return the image in a snapshot after checking every byte. May run on any thread. Raises StorageError."""
        return self._snapshots.load(snapshot)

    def read_snapshot(self, snapshot: SnapshotId, position: int, max_bytes: int) -> tuple[bytes, int]:
        """Return bytes of a snapshot from ``position`` on, and the size of the whole file, for a follower.

        Raises KafkaError SNAPSHOT_NOT_FOUND or POSITION_OUT_OF_RANGE.
        """
        return self._snapshots.read(snapshot, position, max_bytes)

    def store_chunk(self, chunk: StoreChunk) -> bool:
        """Store a chunk of a leader's snapshot. Return False, and delete the earlier chunks, if it does not continue
        them.

        After the last chunk, ``complete_snapshot`` must check the whole file.
        """
        return self._snapshots.store(chunk, chunk.payload)

    def complete_snapshot(self, snapshot: SnapshotId) -> bool:
        """Check a snapshot whose last chunk was stored, and keep it durably. May run on any thread.

        Returns False if it is missing or damaged. A damaged one is deleted. Raises UnsupportedFormat for levels that
        this node does not know.
        """
        return self._snapshots.complete(snapshot)


def _checked(data: bytes, offset: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of the batches in ``data`` after a check. The first one holds ``offset``.

    Raises CorruptBatch.
    """
    for position, header in iter_headers(data):
        check_batch(data, position, header)
        # No checksum covers the offset.
        if not header.base_offset <= offset <= header.last_offset or (position and header.base_offset != offset):
            raise CorruptBatch(f"a batch begins at offset {header.base_offset}, expected {offset}")
        offset = header.next_offset
        yield position, header


def _decoded(data: bytes, position: int, header: BatchHeader) -> Steps[tuple[Any, ...]]:
    """Return the records of a batch, none for a control batch. Raises CorruptBatch or MetadataError."""
    records: list[Any] = []
    if not header.is_control:
        for record in read_records(data, position, header, max_bytes=MAX_READ_BATCH_BYTES):
            records.append(decode_record(record.value or b""))
            yield 1
    return tuple(records)
