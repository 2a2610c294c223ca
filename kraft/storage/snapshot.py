"""Snapshots of the metadata log (KIP-630): ``<end offset>-<epoch>.checkpoint`` files beside its segments.

A snapshot has the format of a log: a control batch with a SnapshotHeader, batches of metadata records, a control batch
with a SnapshotFooter. Offsets count from 0, and every batch has the epoch of the snapshot. The end offset in the name
is exclusive. The file is written as ``.part`` and renamed once it is durable, so a ``.checkpoint`` is always complete.
``bootstrap.checkpoint`` has the same layout with epoch 0 and holds the first records of a new cluster.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

from kraft.messages.snapshot_footer_record import SnapshotFooterRecord
from kraft.messages.snapshot_header_record import SnapshotHeaderRecord
from kraft.raft.messages import SnapshotId
from kraft.records.batch import BatchHeader, CorruptBatch
from kraft.records.control import ControlType, control_record, control_type
from kraft.records.record import Record, encode_batch, read_records
from kraft.storage.atomic import sync_directory, write_all
from kraft.storage.creation import create_file, open_for_reading
from kraft.storage.errors import CorruptLog
from kraft.storage.scan import read_batch, walk
from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError

CHECKPOINT_SUFFIX = ".checkpoint"
PART_SUFFIX = ".part"
#: The largest batch, in bytes, that is read from a snapshot or the metadata log, before and after decompression.
MAX_READ_BATCH_BYTES = 64 * 2**20

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_LEFT_OVER = re.compile(r"[0-9]{20}-[0-9]{10}.*\.checkpoint\.(part|deleted)")
_BATCH_BYTES = 2**20
_HEADER_VERSION = 0
_ADVICE = "delete it if another snapshot or the log covers it, or restore it from a copy"


def snapshot_name(snapshot: SnapshotId) -> str:
    """Return the file name of a snapshot."""
    return f"{snapshot.end_offset:020d}-{snapshot.epoch:010d}{CHECKPOINT_SUFFIX}"


def snapshot_batches(values: Iterable[bytes], *, epoch: int, timestamp: int) -> Iterator[bytes]:
    """Yield the batches of a snapshot of these metadata records; ``timestamp`` (ms) is that of the last record."""
    message = SnapshotHeaderRecord(version=_HEADER_VERSION, last_contained_log_timestamp=timestamp)
    header = encode(message, _HEADER_VERSION)
    yield _control_batch(ControlType.SNAPSHOT_HEADER, header, 0, epoch, timestamp)
    offset = 1
    batch: list[Record] = []
    size = 0
    for value in values:
        if batch and size + len(value) > _BATCH_BYTES:
            yield encode_batch(batch, base_offset=batch[0].offset, leader_epoch=epoch)
            batch, size = [], 0
        batch.append(Record(offset, timestamp, None, value))
        size += len(value)
        offset += 1
    if batch:
        yield encode_batch(batch, base_offset=batch[0].offset, leader_epoch=epoch)
    footer = encode(SnapshotFooterRecord(version=0), 0)
    yield _control_batch(ControlType.SNAPSHOT_FOOTER, footer, offset, epoch, timestamp)


def _control_batch(kind: ControlType, value: bytes, offset: int, epoch: int, timestamp: int) -> bytes:
    record = control_record(kind, value, offset=offset, timestamp=timestamp)
    return encode_batch([record], base_offset=offset, leader_epoch=epoch, control=True)


def write_snapshot(
    directory: str | os.PathLike[str], snapshot: SnapshotId, values: Iterable[bytes], *, timestamp: int
) -> str:
    """Write a snapshot durably; return its path. After an OSError no part of it remains."""
    path = os.path.join(directory, snapshot_name(snapshot))
    part = path + PART_SUFFIX
    try:
        fd = create_file(part, os.O_WRONLY)
        try:
            for batch in snapshot_batches(values, epoch=snapshot.epoch, timestamp=timestamp):
                write_all(fd, batch)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    sync_directory(directory)
    return path


def read_snapshot(path: str | os.PathLike[str], *, epoch: int = 0) -> Iterator[bytes]:
    """Yield the metadata records of a snapshot of this epoch, or of ``bootstrap.checkpoint``, batch by batch.

    Each batch is checked before its records are yielded. The header comes first and the footer last, offsets follow
    each other from 0, every epoch is the snapshot's, and every checksum is right. Raises CorruptLog, perhaps after some
    records, and OSError.
    """
    fd = open_for_reading(path)
    position = offset = 0
    complete = False
    try:
        for _, header in walk(fd, 0, os.fstat(fd).st_size, verify=True):
            if complete:
                raise CorruptBatch("a batch follows the footer")
            if (header.base_offset, header.leader_epoch) != (offset, epoch):
                found = f"offset {header.base_offset} in epoch {header.leader_epoch}"
                raise CorruptBatch(f"the batch begins at {found}, expected offset {offset} in epoch {epoch}")
            for record in _records(fd, position, header):
                if header.is_control:
                    kind = control_type(record)
                    if (kind is ControlType.SNAPSHOT_HEADER) != (record.offset == 0) or complete:
                        raise CorruptBatch(f"control record of type {kind} out of place")
                    complete = kind is ControlType.SNAPSHOT_FOOTER
                elif record.offset == 0:
                    raise CorruptBatch("the file begins without a snapshot header")
                elif record.value is None:
                    raise CorruptBatch(f"the record at offset {record.offset} has no value")
                else:
                    yield record.value
            position += header.size
            offset = header.next_offset
        if not complete:
            raise CorruptBatch("the file ends without a snapshot footer")
    except CorruptBatch as damage:
        raise CorruptLog(path, position, offset, str(damage), _ADVICE) from damage
    finally:
        os.close(fd)


def _records(fd: int, position: int, header: BatchHeader) -> Iterator[Record]:
    if header.size > MAX_READ_BATCH_BYTES:
        raise CorruptBatch(f"a batch of {header.size} bytes; no more than {MAX_READ_BATCH_BYTES} are read")
    if header.count != header.last_offset_delta + 1:
        raise CorruptBatch(f"{header.count} records where there are {header.last_offset_delta + 1} offsets")
    return read_records(read_batch(fd, position, header), 0, header, max_bytes=MAX_READ_BATCH_BYTES)


def snapshot_timestamp(path: str | os.PathLike[str]) -> int:
    """Return the append time (ms) of the last record in a snapshot, from its header. Raises CorruptLog, OSError."""
    fd = open_for_reading(path)
    try:
        position, header = next(walk(fd, 0, os.fstat(fd).st_size, verify=True))
        record = next(_records(fd, position, header))
        if not header.is_control or control_type(record) is not ControlType.SNAPSHOT_HEADER:
            raise CorruptBatch("the file begins without a snapshot header")
        message, _ = decode(SnapshotHeaderRecord, _HEADER_VERSION, record.value or b"")
        return message.last_contained_log_timestamp
    except StopIteration:
        raise CorruptLog(path, 0, 0, "the file is empty", _ADVICE) from None
    except DecodeError as damage:
        raise CorruptLog(path, 0, 0, str(damage), _ADVICE) from damage
    finally:
        os.close(fd)


def list_snapshots(directory: str | os.PathLike[str]) -> list[SnapshotId]:
    """Return the complete snapshots in a directory, oldest first. Raises OSError."""
    names = map(_NAME.fullmatch, os.listdir(directory))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in names if match)


def delete_snapshots_before(directory: str | os.PathLike[str], snapshot: SnapshotId) -> None:
    """Delete the snapshots older than this one. Raises OSError."""
    for older in list_snapshots(directory):
        if older < snapshot:
            os.unlink(os.path.join(directory, snapshot_name(older)))


def delete_leftovers(directory: str | os.PathLike[str]) -> None:
    """Delete the files of snapshots whose writing, fetching or deletion a crash interrupted. Raises OSError."""
    for name in filter(_LEFT_OVER.fullmatch, os.listdir(directory)):
        os.unlink(os.path.join(directory, name))
