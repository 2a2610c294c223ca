"""Plan and read ``format("kraft-metadata")`` from files: a log directory, a partition's directory or a snapshot.

The files do not record the high watermark, so the rows include records that were not yet committed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import attrs
import pyarrow as pa

from kraft.records.batch import BatchHeader, CorruptBatch
from kraft.records.control import ControlType
from kraft.records.record import read_records
from kraft.spark.metadata_rows import MetadataRows, UndecodableRecord
from kraft.spark.metadata_settings import ROWS_PER_BATCH, Settings
from kraft.spark.options import OptionError
from kraft.spark.segment_scan import (
    MAX_BATCH_BYTES,
    CorruptInput,
    DamagedBytes,
    SoundBatches,
    base_offset,
    scan,
    segments,
)
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT
from kraft.storage.snapshot import CHECKPOINT_SUFFIX, list_snapshots, snapshot_name
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION

_FOOTER_KEY = bytes([8, 0, 0, 0, ControlType.SNAPSHOT_FOOTER])
"""Length and key of the last record of a snapshot, as bytes in its batch."""
_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


@attrs.frozen
class SegmentOffsets:
    """The records of a segment with offsets from ``start`` to below ``end`` (None: to its end)."""

    path: str
    is_active: bool
    start: int
    end: int | None
    follows: int | None
    """The offset at which the next segment begins; None for the newest segment."""


@attrs.frozen
class SnapshotFile:
    """A snapshot. Its id is not always in the name of the file: a copy of a live one has another name."""

    path: str
    end_offset: int
    epoch: int


def plan_files(settings: Settings) -> list[SegmentOffsets | SnapshotFile]:
    """Return the files of a batch query, one for each task.

    If the log begins after the wanted offset, the oldest snapshot that continues into the log comes first.

    Raises:
        OptionError: the path has no metadata log and is no snapshot, or lacks the wanted offsets.
        OSError: a directory cannot be read.
    """
    assert settings.path is not None, "the settings have a path or controllers"
    path = settings.path.removeprefix("file://")
    if not os.path.exists(path):
        raise OptionError(f"Option path: {path} does not exist")
    if os.path.isfile(path):
        return [_snapshot_file(path)]
    inner = os.path.join(path, CLUSTER_METADATA_PARTITION)
    return _plan_directory(inner if os.path.isdir(inner) else path, settings)


def _snapshot_file(path: str) -> SnapshotFile:
    name = os.path.basename(path)
    found = _SNAPSHOT.fullmatch(name)
    if found is None and name != BOOTSTRAP_CHECKPOINT:
        example = "00000000000000000041-0000000001.checkpoint"
        raise OptionError(f"Option path: {path} is neither a directory nor a snapshot, such as {example}")
    return SnapshotFile(path, int(found[1]), int(found[2])) if found else SnapshotFile(path, 0, 0)


def _plan_directory(directory: str, settings: Settings) -> list[SegmentOffsets | SnapshotFile]:
    paths = segments(directory)
    snapshots = [each for each in list_snapshots(directory) if each.end_offset > 0]
    if not paths and not snapshots:
        raise OptionError(f"Option path: {directory} has no metadata log and no snapshot")
    if settings.starting.offset is None:
        raise OptionError("startingOffsets latest has no meaning for files; give earliest or an offset")
    plan: list[SegmentOffsets | SnapshotFile] = []
    start, stop = settings.starting.offset, settings.ending.offset
    log_start = base_offset(paths[0]) if paths else None
    if log_start is None or start < log_start:
        usable = [each for each in snapshots if log_start is None or each.end_offset >= log_start]
        if not usable:
            begin = f"the log begins at offset {log_start}"
            raise OptionError(f"{directory}: {begin}, and no snapshot covers the offsets before")
        snapshot = usable[0] if log_start is not None else usable[-1]
        if stop is not None and stop < snapshot.end_offset:
            covers = f"the snapshot that stands for them covers all before {snapshot.end_offset}"
            raise OptionError(f"{directory}: offsets {start} to {stop} are deleted: {covers}")
        plan.append(SnapshotFile(os.path.join(directory, snapshot_name(snapshot)), *snapshot))
        start = snapshot.end_offset
    for path, end in zip(paths, [*map(base_offset, paths[1:]), None], strict=True):
        if (end is None or end > start) and (stop is None or base_offset(path) < stop):
            plan.append(SegmentOffsets(path, end is None, start, stop, end))
    return plan


def read_segment_file(part: SegmentOffsets, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a segment. Raises CorruptInput without a quarantine, and OSError."""
    rows = MetadataRows(quarantine=settings.quarantine)
    yield from _FileReader(part.path, rows, settings, part.start, part.end).read(part.is_active, part.follows)


def read_snapshot_file(part: SnapshotFile, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a snapshot. Raises CorruptInput without a quarantine, and OSError."""
    rows = MetadataRows(quarantine=settings.quarantine, as_of=part.end_offset - 1)
    yield from _FileReader(part.path, rows, settings, 0, None).read(is_active=False, follows=None)


class _FileReader:
    """Reads one file. A metadata log and a snapshot have no gaps, so a missing offset is damage too."""

    def __init__(self, path: str, rows: MetadataRows, settings: Settings, start: int, end: int | None) -> None:
        self._path = path
        self._rows = rows
        self._settings = settings
        self._start = start
        self._end = end
        self._expected: int | None = base_offset(path)  # None behind a damage: any offset may follow
        self._has_footer = False

    def read(self, is_active: bool, follows: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows. ``follows`` is the offset at which the next segment begins."""
        size = 0
        for found in scan(self._path, is_active=is_active):
            if isinstance(found, DamagedBytes):
                self._damaged(found)
                size = found.position + found.size
            else:
                self._add_group(found)
                size = found.position + len(found.data)
            if len(self._rows) >= ROWS_PER_BATCH:
                yield self._rows.take()
        if follows is not None:
            self._expect(follows, size)
        if self._path.endswith(CHECKPOINT_SUFFIX) and not self._has_footer and self._expected is not None:
            self._damaged(
                DamagedBytes(self._path, size, 0, self._expected, "the snapshot ends without its footer", b"")
            )
        if len(self._rows):
            yield self._rows.take()

    def _damaged(self, damage: DamagedBytes) -> None:
        self._expected = None
        if self._settings.quarantine:
            self._rows.add_damage(damage)
        elif not damage.is_torn:
            raise CorruptInput(str(damage))

    def _expect(self, offset: int, position: int) -> None:
        """Note damage if the batch at ``position`` does not have the next offset."""
        expected = self._expected
        if expected is not None and expected != offset:
            reason = f"offset {offset} follows where {expected} is expected"
            self._damaged(DamagedBytes(self._path, position, 0, expected, reason, b""))

    def _add_group(self, group: SoundBatches) -> None:
        for position, header in group.batches:
            place = group.position + position
            self._expect(header.base_offset, place)
            self._expected = header.next_offset
            is_footer = header.is_control and group.data.find(_FOOTER_KEY, position, position + header.size) >= 0
            self._has_footer = self._has_footer or is_footer
            is_wanted = header.next_offset > self._start and (self._end is None or header.base_offset < self._end)
            if is_wanted and (not header.is_control or self._settings.control_records):
                self._add_batch(group.data, position, header, place)

    def _add_batch(self, data: bytes, position: int, header: BatchHeader, place: int) -> None:
        start, end = self._start, self._end
        try:
            records = list(read_records(data, position, header, max_bytes=MAX_BATCH_BYTES))
            wanted = (each for each in records if start <= each.offset and (end is None or each.offset < end))
            self._rows.add(header, wanted)
        except CorruptBatch as error:
            batch = data[position : position + header.size]
            self._damaged(DamagedBytes.of(self._path, place, header.size, header.base_offset, str(error), batch))
        except UndecodableRecord as error:
            raise CorruptInput(f"{self._path}: position {place}: {error}") from None
