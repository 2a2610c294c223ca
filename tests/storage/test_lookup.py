"""Offsets by timestamp: a search lets other tasks run, and the log may change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.simulation.virtual_network import at_once
from kraft.storage.cleaner import Cleaning
from kraft.storage.log import Log, remove_files
from kraft.storage.lookup import TimestampedOffset
from kraft.storage.opening import RECORDS_PER_SLICE
from tests.records.strategies import forge
from tests.storage.logs import append, config, open_log
from tests.support.steps import steps_of_this_task

COUNT = 4 * RECORDS_PER_SLICE
EARLY, LATE = 10, 20


def one_late(compression: Compression = Compression.NONE, size: int = 1) -> bytearray:
    """A batch in which only the last record is late."""
    records = [Record(offset, EARLY, b"%d" % offset, bytes(size)) for offset in range(COUNT)]
    records[-1] = records[-1]._replace(timestamp=LATE)
    return bytearray(encode_batch(records, compression=compression))


async def test_a_search_in_one_batch_lets_other_tasks_run(tmp_path: Path) -> None:
    """One look-up into a batch of 982 KB with 110,000 records would hold the event loop for 154 ms."""
    log = open_log(tmp_path, config())
    append(log, one_late())
    async with steps_of_this_task() as steps:
        assert await log.offset_for_timestamp(LATE, at_once) == TimestampedOffset(LATE, COUNT - 1, 0)
    assert steps.count >= COUNT // RECORDS_PER_SLICE


async def test_a_walk_over_many_batches_lets_other_tasks_run(tmp_path: Path) -> None:
    """A topic's ``index.interval.bytes`` may be as large as a segment."""
    log = open_log(tmp_path, config(index_interval_bytes=2**30))
    for _ in range(COUNT):
        append(log, bytearray(encode_batch([Record(0, EARLY, None, b"")])))
    append(log, bytearray(encode_batch([Record(0, LATE, None, b"")])))
    async with steps_of_this_task() as steps:
        assert await log.offset_for_timestamp(LATE, at_once) == TimestampedOffset(LATE, COUNT, 0)
    assert steps.count >= COUNT // RECORDS_PER_SLICE


@pytest.mark.parametrize(("size", "threads"), [(1, 0), (1000, 1)])
async def test_large_batches_are_decompressed_on_a_thread(tmp_path: Path, size: int, threads: int) -> None:
    """A small compressed batch may hold 256 MiB."""
    log = open_log(tmp_path, config())
    append(log, one_late(Compression.ZSTD, size))
    used = 0

    async def compute(work: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal used
        used += 1
        return await at_once(work, *arguments)

    assert await log.offset_for_timestamp(LATE, compute) == TimestampedOffset(LATE, COUNT - 1, 0)
    assert used == threads


async def test_the_newest_record_may_be_deleted(tmp_path: Path) -> None:
    """MAX_TIMESTAMP in ``UnifiedLog.fetchOffsetByTimestamp`` does not look at the log start. A search from there for a
    timestamp that only a deleted record has would find nothing, although records remain.
    """
    log = open_log(tmp_path, config())
    for timestamp in (LATE, EARLY, EARLY + 1):
        append(log, bytearray(encode_batch([Record(0, timestamp, None, b"")])))
        log.roll()
    log.delete_records(1)
    assert await log.newest_record(at_once) == TimestampedOffset(LATE, 0, 0)
    remove_files(log.delete_old_segments(0, log.log_end_offset))
    assert await log.newest_record(at_once) == TimestampedOffset(EARLY + 1, 2, 0)


def _retain(log: Log) -> None:
    """Delete the oldest segment, which the search reads."""
    log.delete_records(COUNT)
    remove_files(log.delete_old_segments(0, log.log_end_offset))
    assert len(log.segments) == 3


def _compact(log: Log) -> None:
    """Put one segment in the place of all sealed ones."""
    cleaning = Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers)
    remove_files(log.replace_segments(cleaning.run(0)))
    assert len(log.segments) == 2


def _append(log: Log) -> None:
    append(log, one_late())


@pytest.mark.parametrize("change", [_retain, _compact, _append])
async def test_the_log_may_change_during_a_search(tmp_path: Path, change: Callable[[Log], None]) -> None:
    """The record that was there at the beginning is found, whatever retention, compaction and producers do."""
    log = open_log(tmp_path, config(segment_index_bytes=1000, cleanup_policy="compact,delete"))
    early = encode_batch([Record(offset, EARLY, b"%d" % offset, b"") for offset in range(COUNT)])
    lying = forge(early, max_timestamp=(35, "q", LATE))
    for batch in bytearray(lying), bytearray(lying), one_late():
        append(log, batch)
        log.roll()
    # Its header leads the search into the first batch, and the change happens there.
    changed = False

    class Changing(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            nonlocal changed
            if not changed:
                changed = True
                change(log)

    trio.lowlevel.add_instrument(instrument := Changing())
    try:
        found = await log.offset_for_timestamp(LATE, at_once)
    finally:
        trio.lowlevel.remove_instrument(instrument)
    assert (found, changed) == (TimestampedOffset(LATE, 3 * COUNT - 1, 0), True)
