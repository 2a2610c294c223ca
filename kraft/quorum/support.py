"""Detects metadata of a newer Kafka that this node does not support, before it writes anything (KIP-778, KIP-853).

Two feature levels limit the content of a metadata log. With ``kraft.version`` 1 the voters are dynamic: the log names
them and may change them. A node that used ``controller.quorum.voters`` instead could elect itself beside another
leader. A ``metadata.version`` above the known ones means unknown records.

Such files are not damaged. They belong to another program.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import mmap
import os
from collections.abc import Iterator

from kraft.config.features import KRAFT_VERSION, METADATA_VERSION
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.kraft_version_record import KRaftVersionRecord
from kraft.metadata.delta import MetadataError, UnsupportedMetadata, require_known_level
from kraft.metadata.frame import decode_record
from kraft.records.batch import BatchHeader, CorruptBatch, check_batch
from kraft.records.control import ControlType, control_type
from kraft.records.record import Record, read_records
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import UnsupportedFormat
from kraft.storage.scan import walk
from kraft.storage.segment import LOG_SUFFIX
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES, list_snapshots, snapshot_name
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError

_LEVEL = METADATA_VERSION.encode()
#: The lengths and keys of control records about dynamic voters, as bytes in a batch.
_DYNAMIC = tuple(bytes([8, 0, 0, 0, kind]) for kind in (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS))


def require_static_voters(record: Record, where: str) -> None:
    """Check a control record. The error text begins with ``where``.

    Raises:
        UnsupportedFormat: The record makes the voters dynamic.
        CorruptBatch: The record is not a valid control record.
    """
    kind = control_type(record)
    level = 0
    if kind is ControlType.KRAFT_VERSION:
        try:
            message, _ = decode(KRaftVersionRecord, 0, record.value or b"")
        except DecodeError as error:
            raise CorruptBatch(f"malformed {KRAFT_VERSION}: {error}") from None
        level = message.kraft_version
    if level > 0 or kind is ControlType.KRAFT_VOTERS:
        what = f"{KRAFT_VERSION} {max(level, 1)} with dynamic voters (KIP-853) is not supported"
        raise UnsupportedFormat(
            f"{where}: at offset {record.offset}: {what}; this node knows {KRAFT_VERSION} 0, the voters of "
            "controller.quorum.voters"
        )


def require_supported(directory: str) -> None:
    """Check every feature level in the files of a metadata log, from its newest snapshot on. Nothing is written.

    A missing directory passes. So does damage, which the opening of the log reports. Raises UnsupportedFormat or
    OSError.
    """
    if not os.path.isdir(directory):
        return
    snapshots = list_snapshots(directory)
    # The oldest may be the bootstrap snapshot of a later Kafka, at offset 0. It names the first voters.
    for snapshot in {*snapshots[:1], *snapshots[-1:]}:
        require_supported_file(os.path.join(directory, snapshot_name(snapshot)))
    covered = snapshots[-1].end_offset if snapshots else 0
    for name in sorted(os.listdir(directory)):
        if name.endswith(LOG_SUFFIX):
            require_supported_file(os.path.join(directory, name), covered)


def require_supported_file(path: str, offset: int = 0) -> None:
    """Check the levels in a segment or a snapshot, in batches that reach ``offset``. Raises as above."""
    fd = open_for_reading(path)
    try:
        size = os.fstat(fd).st_size
        if size == 0:
            return
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as data, contextlib.suppress(DecodeError):
            for position, header in _batches_with_levels(fd, data, size):
                if header.next_offset > offset:
                    if header.size > MAX_READ_BATCH_BYTES:
                        return  # damage, which the opening of the log reports
                    batch = data[position : position + header.size]
                    check_batch(batch, 0, header)
                    _require_supported_batch(path, batch, header)
    finally:
        os.close(fd)


def _batches_with_levels(fd: int, data: mmap.mmap, size: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield the few batches that may contain a feature level. Raises CorruptBatch.

    A hit is the position of a pattern, and whether the pattern is one of control batches: the five bytes of
    ``_DYNAMIC`` are common in data batches, where they mean nothing. A hit at ``size`` stands for no more hits.
    """
    hits = heapq.merge(_find(data, _LEVEL, False), *(_find(data, pattern, True) for pattern in _DYNAMIC))
    following = itertools.chain(hits, itertools.repeat((size, False)))  # the hits may be as many as the bytes
    hit, in_control = next(following)
    if hit == size:
        return
    for position, header in walk(fd, 0, size, verify=False):
        end, has_hit = position + header.size, False
        while hit < end and hit < size:
            has_hit = has_hit or in_control == header.is_control
            hit, in_control = next(following)
        if has_hit:
            yield position, header
        if hit == size:
            return


def _find(data: mmap.mmap, pattern: bytes, in_control: bool) -> Iterator[tuple[int, bool]]:
    """Yield the positions of a pattern, with whether it is one of control batches."""
    position = data.find(pattern)
    while position >= 0:
        yield position, in_control
        position = data.find(pattern, position + 1)


def _require_supported_batch(path: str, batch: bytes, header: BatchHeader) -> None:
    for record in read_records(batch, 0, header, max_bytes=MAX_READ_BATCH_BYTES):
        if header.is_control:
            require_static_voters(record, path)
        elif record.value is not None and _LEVEL in record.value:
            try:
                decoded = decode_record(record.value)
                if isinstance(decoded, FeatureLevelRecord):
                    require_known_level(decoded)
            except UnsupportedMetadata as error:
                raise UnsupportedFormat(f"{path}: at offset {record.offset}: {error}") from error
            except MetadataError:
                continue
