"""Plan and read ``format("kraft-metadata")`` from a live quorum.

The unit of a plan is plain data: a range of offsets, or a snapshot. Each call has its own event loop and connection, so
the driver and its executors share nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import attrs
import pyarrow as pa
import trio

from kraft.client.metadata_log import FetchedLog, MetadataLogReader, open_metadata_log
from kraft.config.listeners import address
from kraft.raft.messages import SnapshotId
from kraft.records.record import read_records
from kraft.spark.metadata_files import SnapshotFile, read_snapshot_file
from kraft.spark.metadata_rows import MetadataRows
from kraft.spark.metadata_settings import ROWS_PER_BATCH, Settings
from kraft.spark.segment_scan import MAX_BATCH_BYTES

OFFSETS_PER_PARTITION = 50_000
"""The most offsets that one task reads from the log."""
CLIENT_ID = "kraft-spark"

T = TypeVar("T")

_leaders: dict[str, str] = {}
"""The leader that this process found last, by the controllers of the option, of which the first may be dead."""


class GoneOffsets(Exception):
    """The quorum has deleted offsets that were wanted. The text names them."""


@attrs.frozen
class LogRange:
    """Offsets of the log from ``start`` to below ``end``. ``epoch`` is that of the record before, None if unknown."""

    start: int
    end: int
    epoch: int | None = None


@attrs.frozen
class LiveSnapshot:
    """A snapshot of the leader."""

    end_offset: int
    epoch: int


def ask(controllers: str, call: Callable[[MetadataLogReader], Awaitable[T]]) -> T:
    """Run ``call`` with a reader of the metadata log and return its result. Raises what it raises."""

    known = _leaders.pop(controllers, None)

    async def main() -> T:
        async with open_metadata_log(f"{known},{controllers}" if known else controllers, CLIENT_ID) as log:
            result = await call(log)
            if log.leader is not None:
                _leaders[controllers] = address(*log.leader)
            return result

    return trio.run(main)


def ranges(start: int, end: int, epoch: int | None) -> list[LogRange]:
    """Split offsets into ranges for tasks that run at the same time."""
    starts = range(start, end, OFFSETS_PER_PARTITION)
    return [LogRange(at, min(at + OFFSETS_PER_PARTITION, end), epoch if at == start else None) for at in starts]


def plan(controllers: str, start: int, epoch: int | None, end: int | None) -> list[LogRange | LiveSnapshot]:
    """Return the parts of a batch query. ``end`` of None is the high watermark.

    If the log does not have ``start`` any more, the newest snapshot comes first.

    Raises:
        GoneOffsets: the newest snapshot covers ``end``, so it has rows of both sides of ``end``.
        LogDiverged, KafkaError, GaveUp: as the reader of the log.
    """
    fetched = ask(controllers, lambda log: log.fetch(start, epoch))
    wanted_end = fetched.high_watermark if end is None else end
    if wanted_end > fetched.high_watermark:
        raise GoneOffsets(f"endingOffsets {wanted_end} is beyond the high watermark, {fetched.high_watermark}")
    if fetched.snapshot is None:
        return list(ranges(start, wanted_end, epoch))
    snapshot = fetched.snapshot
    if wanted_end < snapshot.end_offset:
        kept = f"the log begins at offset {fetched.log_start_offset}, and the newest snapshot covers all before"
        raise GoneOffsets(f"offsets {start} to {wanted_end} are deleted: {kept} {snapshot.end_offset}")
    return [LiveSnapshot(*snapshot), *ranges(snapshot.end_offset, wanted_end, snapshot.epoch)]


def plan_between(
    controllers: str, start: int, epoch: int | None, end: int, end_epoch: int
) -> list[LogRange | LiveSnapshot]:
    """Return the parts of a micro-batch.

    If Spark runs it again after its records and its snapshot were deleted, it is empty, provided that the next batch
    begins with a newer snapshot. Otherwise it has that snapshot, and its records behind it. Raises as ``plan``.
    """
    fetched = ask(controllers, lambda log: log.fetch(start, epoch))
    if fetched.snapshot is None:
        return list(ranges(start, end, epoch))
    wanted = SnapshotId(end, end_epoch)
    if wanted == fetched.snapshot:
        return [LiveSnapshot(end, end_epoch)]
    if ask(controllers, lambda log: log.has_snapshot(wanted)):
        return [LiveSnapshot(end, end_epoch)]
    if end < fetched.log_start_offset:
        return []
    snapshot = fetched.snapshot
    return [LiveSnapshot(*snapshot), *ranges(snapshot.end_offset, end, snapshot.epoch)]


def epoch_before(controllers: str, fetched: FetchedLog, end: int) -> int:
    """Return the epoch of the record before ``end``. Raises as the reader of the log."""
    for _, header in reversed(fetched.batches):
        if header.base_offset < end <= header.next_offset:
            return header.leader_epoch
    found = ask(controllers, lambda log: log.fetch(end - 1, needed=True))
    if found.snapshot is not None:
        return found.snapshot.epoch
    return found.batches[0][1].leader_epoch


def read_range(controllers: str, part: LogRange, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range. Raises GoneOffsets if it was deleted meanwhile, and as the reader of the log."""
    rows = MetadataRows(quarantine=settings.quarantine)
    offset, epoch = part.start, part.epoch
    while offset < part.end:
        at, before = offset, epoch
        fetched = ask(controllers, lambda log: log.fetch(at, before, needed=True))  # noqa: B023 - called at once
        if fetched.snapshot is not None:
            begin = f"the log now begins at {fetched.log_start_offset}"
            raise GoneOffsets(f"offsets {offset} to {part.end} were deleted since the query was planned: {begin}")
        for position, header in fetched.batches:
            if header.base_offset >= part.end:
                break
            offset, epoch = header.next_offset, header.leader_epoch
            if header.is_control and not settings.control_records:
                continue
            records = read_records(fetched.data, position, header, max_bytes=MAX_BATCH_BYTES)
            rows.add(header, (each for each in records if part.start <= each.offset < part.end))
            if len(rows) >= ROWS_PER_BATCH:
                yield rows.take()
    if len(rows):
        yield rows.take()


def read_live_snapshot(controllers: str, part: LiveSnapshot, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a snapshot, from a temporary copy. Raises as the reader of the log."""
    with tempfile.NamedTemporaryFile(prefix="kraft-", suffix=".checkpoint") as file:
        ask(controllers, lambda log: log.download(SnapshotId(part.end_offset, part.epoch), file))
        file.flush()
        yield from read_snapshot_file(SnapshotFile(file.name, part.end_offset, part.epoch), settings)
