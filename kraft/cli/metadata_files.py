"""Load the metadata in a snapshot or a log directory, without locking or writing anything.

A live node may add and delete files meanwhile. The newest snapshot is loaded, and the complete batches of the log after
it are replayed, up to the first that contradicts the metadata. Damage that no interrupted write can have left is an
error. The files do not record the high watermark, so uncommitted records are included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import click

from kraft.metadata.delta import Delta, MetadataError
from kraft.metadata.frame import decode_record
from kraft.metadata.image import Image
from kraft.metadata.loader import Loader
from kraft.raft.messages import SnapshotId
from kraft.records.batch import BatchHeader, CorruptBatch, TruncatedBatch
from kraft.records.record import read_records
from kraft.storage.creation import open_for_reading
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT
from kraft.storage.errors import CorruptLog, StorageError
from kraft.storage.scan import find_sound_batch, read_batch, walk
from kraft.storage.snapshot import (
    MAX_READ_BATCH_BYTES,
    list_snapshots,
    read_snapshot,
    snapshot_name,
    snapshot_timestamp,
)
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION

_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_SEGMENT = re.compile(r"([0-9]{20})\.log")
_ATTEMPTS = 5
_ADVICE = "kraft dump-log prints the sound batches, and --snapshot shows a snapshot"


def snapshot_of(path: str) -> SnapshotId | None:
    """Return the snapshot id in a file's name, or None if the name has none. The bootstrap checkpoint has epoch 0."""
    name = os.path.basename(path)
    if name == BOOTSTRAP_CHECKPOINT:
        return SnapshotId(0, 0)
    match = _SNAPSHOT.fullmatch(name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


def snapshot_image(path: str) -> Image:
    """Load a snapshot.

    Raises:
        StorageError: the file is not a snapshot, or is damaged.
        OSError: the file cannot be read.
    """
    os.stat(path)
    snapshot = snapshot_of(path)
    if snapshot is None:
        raise StorageError(f"{path}: its name is not a snapshot's, such as 00000000000000000041-0000000001.checkpoint")
    timestamp_ms = snapshot_timestamp(path)
    delta = Delta(Image())
    try:
        for value in read_snapshot(path, epoch=snapshot.epoch):
            delta.replay(decode_record(value))
    except MetadataError as error:
        raise StorageError(f"{path}: {error}") from None
    image, _ = delta.finish(snapshot.end_offset - 1, snapshot.epoch, timestamp_ms)
    return image


def directory_image(path: str) -> Image:
    """Load the metadata of a log directory, or of its ``__cluster_metadata-0``.

    Raises:
        StorageError: the directory has no metadata, or it is damaged.
        OSError: a file cannot be read.
    """
    inner = os.path.join(path, CLUSTER_METADATA_PARTITION)
    directory = inner if os.path.isdir(inner) else path
    for attempt in range(_ATTEMPTS):
        try:
            return _load(directory)
        except FileNotFoundError:
            # A live node has deleted an old file. Try again with the newer ones.
            if attempt == _ATTEMPTS - 1 or not os.path.isdir(directory):
                raise
    raise AssertionError("the last attempt raises")


def _load(directory: str) -> Image:
    segments = _segments(directory)  # first: a node may delete those that a newer snapshot covers
    snapshots = [snapshot for snapshot in list_snapshots(directory) if snapshot.end_offset > 0]
    if not snapshots and not segments:
        raise StorageError(f"{directory}: the directory has no metadata log and no snapshot")
    image = snapshot_image(os.path.join(directory, snapshot_name(snapshots[-1]))) if snapshots else Image()
    loader = Loader(image)
    offset: int | None = image.offset + 1
    paths = [os.path.join(directory, name) for name in segments]
    for number, path in enumerate(paths):
        later = paths[number + 1 :]
        if offset is None:
            break
        if not later or _base_offset(later[0]) > offset:
            # A new segment without a batch holds no data.
            offset = _replay(path, loader, offset, may_be_torn=not any(map(os.path.getsize, later)))
    return loader.image


def _segments(directory: str) -> list[str]:
    return sorted(filter(_SEGMENT.fullmatch, os.listdir(directory)))


def _base_offset(path: str) -> int:
    return int(os.path.basename(path).removesuffix(".log"))


def _replay(path: str, loader: Loader, offset: int, *, may_be_torn: bool) -> int | None:
    """Replay the batches of a segment from ``offset`` on. Return the offset behind them; None if the view ends here.

    With ``may_be_torn`` an incomplete last batch is no damage: a live node is writing it, or a crash cut it.

    Raises:
        CorruptLog: a batch is missing, or damaged with sound ones behind it.
        OSError: the file cannot be read.
    """
    fd = open_for_reading(path)
    position, end, found = 0, os.fstat(fd).st_size, _base_offset(path)
    try:
        if found > offset:
            raise _corrupt(path, 0, offset, f"the segment begins at offset {found}")
        for at, header in walk(fd, 0, end, verify=True):
            position = at + header.size
            if header.next_offset <= offset:
                continue
            if header.base_offset != offset:
                raise _corrupt(path, at, offset, f"the batch begins at offset {header.base_offset}")
            if not header.is_control:
                records = _records(fd, at, header)
                loader.load(records, header.last_offset, header.leader_epoch, header.max_timestamp)
            offset = header.next_offset
    except CorruptBatch as damage:
        sound = find_sound_batch(fd, position + 1, end, offset)
        if sound is not None:
            raise _corrupt(
                path, position, offset, f"{damage}, and sound batches follow from position {sound} on"
            ) from None
        if not may_be_torn:
            raise _corrupt(path, position, offset, str(damage)) from None
        if not isinstance(damage, TruncatedBatch):
            _end_view(path, offset, damage)
        return None
    except MetadataError as error:
        if loader.image.offset < 0:
            raise StorageError(f"{path}: at offset {offset}: {error}") from None
        _end_view(path, offset, error)
        return None
    finally:
        os.close(fd)
    return offset


def _corrupt(path: str, position: int, offset: int, reason: str) -> CorruptLog:
    return CorruptLog(path, position, offset, reason, _ADVICE)


def _end_view(path: str, offset: int, why: Exception) -> None:
    click.echo(f"{path}: at offset {offset}: {why}; this is the metadata before that offset", err=True)


def _records(fd: int, position: int, header: BatchHeader) -> Iterator[Any]:
    if header.size > MAX_READ_BATCH_BYTES:
        raise MetadataError(f"a batch of {header.size} bytes; no more than {MAX_READ_BATCH_BYTES} are read")
    try:
        for record in read_records(read_batch(fd, position, header), 0, header, max_bytes=MAX_READ_BATCH_BYTES):
            yield decode_record(record.value or b"")
    except CorruptBatch as error:  # behind a checksum that is right: not a torn tail
        raise MetadataError(str(error)) from None
