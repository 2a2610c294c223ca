"""The snapshots of the metadata log: images written to files, read and fetched in chunks, and deleted (KIP-630).

The directory is the only state, and an image never changes. A ``.checkpoint`` file is complete from the moment it has
that name. So a worker thread may write, check or load a snapshot while the log continues.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator

import attrs

from kraft.metadata.delta import Delta, MetadataError, UnsupportedMetadata
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.image import Image
from kraft.metadata.levels import record_version
from kraft.metadata.records_of import records_of
from kraft.quorum.support import require_supported_file
from kraft.raft.events import StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.storage.atomic import sync_directory, write_all
from kraft.storage.creation import create_file, open_for_reading, open_for_writing
from kraft.storage.errors import CorruptLog, StorageError, UnsupportedFormat
from kraft.storage.flush import sync_file
from kraft.storage.snapshot import (
    CHECKPOINT_SUFFIX,
    PART_SUFFIX,
    delete_leftovers,
    delete_snapshots_before,
    list_snapshots,
    read_snapshot,
    snapshot_name,
    snapshot_timestamp,
    write_snapshot,
)
from kraft.wire.errors import ErrorCode, KafkaError

#: The maximum size of a snapshot from a leader, in bytes.
MAX_SNAPSHOT_BYTES = 8 * 2**30
_ENCODED_AT_ONCE = 100


@attrs.define
class _Download:
    """A snapshot that is being fetched from a leader. The file has ``size`` bytes of it."""

    snapshot: SnapshotId
    path: str
    size: int = 0


class MetadataSnapshots:
    """The snapshots in one directory. Every method may raise OSError.

    ``write``, ``complete`` and ``load`` may run on a worker thread. All other methods run on the thread of the log.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._numbers = itertools.count()
        self._download: _Download | None = None
        self._fetched: dict[SnapshotId, str] = {}
        self._loaded: tuple[SnapshotId, Image] | None = None
        delete_leftovers(directory)

    def all(self) -> list[SnapshotId]:
        """Return every complete snapshot, oldest first, except the bootstrap snapshot at offset 0 of later Kafka
        releases.
        """
        return [snapshot for snapshot in list_snapshots(self._directory) if snapshot.end_offset > 0]

    def path(self, snapshot: SnapshotId) -> str:
        return os.path.join(self._directory, snapshot_name(snapshot))

    # Snapshots of this node.

    def write(self, image: Image, let_go: Callable[[], None] = lambda: None) -> SnapshotId:
        """Write a snapshot of ``image`` durably, with the fewest records that describe it.

        Calls ``let_go`` about every millisecond, so that other threads get the interpreter's lock.
        """
        snapshot = SnapshotId(image.offset + 1, image.epoch)
        if not os.path.exists(self.path(snapshot)):
            values = _encoded(image, let_go)
            write_snapshot(self._directory, snapshot, values, timestamp=image.timestamp_ms)
        return snapshot

    def load(self, snapshot: SnapshotId) -> Image:
        """Return the image in a snapshot after checking every byte. Raises StorageError if it is damaged."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None and loaded[0] == snapshot:
            return loaded[1]
        return _load(self.path(snapshot), snapshot)

    def load_ahead(self, snapshot: SnapshotId) -> None:
        """Load a snapshot now, so that the next ``load`` need not read it. Raises StorageError if it is damaged."""
        self._loaded = snapshot, _load(self.path(snapshot), snapshot)

    def read(self, snapshot: SnapshotId, position: int, max_bytes: int) -> tuple[bytes, int]:
        """Return bytes of a snapshot from ``position`` on, and the size of the whole file.

        Raises KafkaError SNAPSHOT_NOT_FOUND or POSITION_OUT_OF_RANGE.
        """
        try:
            fd = open_for_reading(self.path(snapshot))
        except FileNotFoundError:
            raise KafkaError(ErrorCode.SNAPSHOT_NOT_FOUND) from None
        try:
            size = os.fstat(fd).st_size
            if not 0 <= position < size:
                raise KafkaError(ErrorCode.POSITION_OUT_OF_RANGE, f"position {position} of {size} bytes")
            return os.pread(fd, max_bytes, position), size
        finally:
            os.close(fd)

    # Snapshots of a leader.

    def store(self, chunk: StoreChunk, data: bytes | memoryview) -> bool:
        """Store a chunk of a leader's snapshot. After the last one, ``complete`` can check the whole.

        Returns False, and deletes the chunks, if this one does not continue them or there are too many bytes.
        """
        download = self._download
        if chunk.position == 0:
            self._forget(download)
            name = snapshot_name(chunk.snapshot).removesuffix(CHECKPOINT_SUFFIX)
            # The name is unique: the same snapshot may be fetched again while a thread still checks the first copy.
            name = f"{name}-{next(self._numbers)}{CHECKPOINT_SUFFIX}{PART_SUFFIX}"
            self._download = download = _Download(chunk.snapshot, os.path.join(self._directory, name))
        continues = download is not None and (download.snapshot, download.size) == (chunk.snapshot, chunk.position)
        if download is None or not continues or download.size + len(data) > MAX_SNAPSHOT_BYTES:
            self._forget(download)
            return False
        try:
            _append(download, data)
        except OSError:
            self._forget(download)
            raise
        download.size += len(data)
        if chunk.last:
            self._download = None
            older, self._fetched = self._fetched, {chunk.snapshot: download.path}
            for other in list(older):
                _unlink(older.pop(other, None))  # ``complete`` may have taken it meanwhile, on its thread.
        return True

    def _forget(self, download: _Download | None) -> None:
        self._download = None
        if download is not None:
            _unlink(download.path)

    def complete(self, snapshot: SnapshotId) -> bool:
        """Check a fetched snapshot. Give it its final name durably, or delete it and return False.

        Raises UnsupportedFormat for levels that this node does not know.
        """
        part = self._fetched.pop(snapshot, None)
        if part is None:
            return False
        try:
            image = _load(part, snapshot)
            sync_file(part)
            os.replace(part, self.path(snapshot))
        except UnsupportedFormat:
            raise  # The leader would send the same bytes again.
        except StorageError:
            return False
        finally:
            _unlink(part)
        sync_directory(self._directory)
        self._loaded = snapshot, image
        return True

    # Retention.

    def surplus(self, log_bytes: int, start_offset: int, now_ms: int, max_bytes: int, max_ms: int) -> SnapshotId | None:
        """Return the second oldest snapshot if ``metadata.max.retention.*`` requires to delete the oldest, else None.

        As in Kafka, the oldest is deleted if its last record is too old, or if log and snapshots together are too
        large. The only snapshot is never deleted. -1 is no limit.
        """
        kept = [snapshot for snapshot in self.all() if snapshot.end_offset >= start_offset]
        if len(kept) < 2:
            return None
        size = log_bytes + sum(os.stat(self.path(snapshot)).st_size for snapshot in kept)
        too_large = 0 <= max_bytes < size
        return kept[1] if too_large or 0 <= max_ms < now_ms - self._timestamp(kept[0], now_ms) else None

    def _timestamp(self, snapshot: SnapshotId, unknown: int) -> int:
        try:
            return snapshot_timestamp(self.path(snapshot))
        except CorruptLog:
            return unknown

    def delete_before(self, snapshot: SnapshotId) -> None:
        """Delete all snapshots older than this one."""
        delete_snapshots_before(self._directory, snapshot)


def _encoded(image: Image, let_go: Callable[[], None]) -> Iterator[bytes]:
    for number, record in enumerate(records_of(image), 1):
        if not number % _ENCODED_AT_ONCE:
            let_go()
        yield encode_record(record, record_version(record))


def _load(path: str, snapshot: SnapshotId) -> Image:
    """Replay a snapshot one record at a time, so that no list of all records is in memory."""
    timestamp_ms = snapshot_timestamp(path)
    require_supported_file(path)
    delta = Delta(Image())
    offset = 1  # behind the header
    try:
        for value in read_snapshot(path, epoch=snapshot.epoch):
            delta.replay(decode_record(value))
            offset += 1
    except UnsupportedMetadata as error:
        raise UnsupportedFormat(f"{path}: {error}") from error
    except MetadataError as error:
        advice = "restore it from a copy, or from another controller"
        raise StorageError(f"{path}: at offset {offset}: {error}; {advice}") from error
    image, _ = delta.finish(snapshot.end_offset - 1, snapshot.epoch, timestamp_ms)
    return image


def _append(download: _Download, data: bytes | memoryview) -> None:
    flags = os.O_WRONLY | os.O_APPEND
    fd = open_for_writing(download.path, flags) if download.size else create_file(download.path, flags)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def _unlink(path: str | None) -> None:
    if path is not None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
