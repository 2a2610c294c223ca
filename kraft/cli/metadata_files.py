"""Load the metadata in a snapshot or a log directory, without locking or writing anything.

A live node may add and delete files meanwhile. The newest snapshot is loaded, and the complete batches of the log after
it are replayed, up to the first that contradicts the metadata. The files do not record the high watermark, so
uncommitted records are included.
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
from kraft.records.batch import BatchHeader, CorruptBatch
from kraft.records.record import read_records
from kraft.storage.creation import open_for_reading
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT
from kraft.storage.errors import StorageError
from kraft.storage.scan import read_batch, walk
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
    snapshots = [snapshot for snapshot in list_snapshots(directory) if snapshot.end_offset > 0]
    segments = _segments(directory)
    if not snapshots and not segments:
        raise StorageError(f"{directory}: the directory has no metadata log and no snapshot")
    image = snapshot_image(os.path.join(directory, snapshot_name(snapshots[-1]))) if snapshots else Image()
    loader = Loader(image)
    for name in segments:
        if not _replay(os.path.join(directory, name), loader, image.offset + 1):
            break
    return loader.image


def _segments(directory: str) -> list[str]:
    return sorted(filter(_SEGMENT.fullmatch, os.listdir(directory)))


def _replay(path: str, loader: Loader, start_offset: int) -> bool:
    """Replay the complete batches of a segment from ``start_offset`` on. Return whether the segment is complete to its
    end.
    """
    fd = open_for_reading(path)
    offset = start_offset
    try:
        for position, header in walk(fd, 0, os.fstat(fd).st_size, verify=True):
            if header.base_offset >= start_offset and not header.is_control:
                offset = header.base_offset
                records = _records(fd, position, header)
                loader.load(records, header.last_offset, header.leader_epoch, header.max_timestamp)
    except CorruptBatch:
        return False  # an incomplete last batch: a live node is writing it, or a crash cut it
    except MetadataError as error:
        what = f"{path}: at offset {offset}: {error}"
        if loader.image.offset < 0:
            raise StorageError(what) from None
        click.echo(f"{what}; this is the metadata before that offset", err=True)
        return False
    finally:
        os.close(fd)
    return True


def _records(fd: int, position: int, header: BatchHeader) -> Iterator[Any]:
    if header.size > MAX_READ_BATCH_BYTES:
        raise MetadataError(f"a batch of {header.size} bytes; no more than {MAX_READ_BATCH_BYTES} are read")
    try:
        for record in read_records(read_batch(fd, position, header), 0, header, max_bytes=MAX_READ_BATCH_BYTES):
            yield decode_record(record.value or b"")
    except CorruptBatch as error:  # behind a checksum that is right: not a torn tail
        raise MetadataError(str(error)) from None
