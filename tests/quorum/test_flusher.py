"""Flushes of the metadata log: none holds up the event loop on a disk that was slow a moment ago."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from kraft.config.topic import LogConfig
from kraft.quorum.flusher import Flusher
from kraft.quorum.log import MetadataLog
from kraft.raft.events import LeaderChange, LogFlushed
from kraft.storage.flush import Flush

ENOUGH = 40
QUICK_S, STRAGGLER_S, STALL_S = 0.0005, 0.003, 0.2


@attrs.define
class Disk:
    """A flusher at work on a real log, with fsyncs of a given duration."""

    log: MetadataLog
    clock: MockClock
    takes_s: float = QUICK_S
    fails: bool = False
    threads: int = 0
    flusher: Flusher = attrs.field(init=False)
    ended: trio.Event = attrs.Factory(trio.Event)
    flushed: list[LogFlushed] = attrs.Factory(list)

    def __attrs_post_init__(self) -> None:
        self.flusher = Flusher(self.log, self.log.view(), self.in_thread, self.sync)

    def sync(self, flush: Flush) -> None:
        flush.run()
        self.clock.jump(self.takes_s)
        if self.fails:
            raise OSError("no medium")

    async def in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.threads += 1
        await trio.lowlevel.checkpoint()
        return work(*arguments)

    async def report(self, flushed: LogFlushed) -> None:
        self.flushed.append(flushed)
        self.ended.set()

    def append(self) -> None:
        self.log.append_leader_change(LeaderChange(1, 1, (1,), (1,)), 0)
        self.flusher.want()

    async def flush(self, count: int) -> int:
        """Return how many of the next ``count`` flushes ran beside the event loop."""
        before = self.threads
        for _ in range(count):
            self.ended = trio.Event()
            self.append()
            flushed = self.flusher.flush()
            if flushed is not None:
                await self.report(flushed)
            await self.ended.wait()
            assert self.flushed[-1].end_offset == self.log.end_offset
        return self.threads - before


@asynccontextmanager
async def running(directory: Path, clock: MockClock) -> AsyncIterator[Disk]:
    disk = Disk(MetadataLog.open(str(directory), LogConfig(), now_ms=0), clock)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.flusher.run, disk.report)
        yield disk
        nursery.cancel_scope.cancel()
    disk.log.abandon()


async def test_a_disk_that_is_quick_needs_no_thread(tmp_path: Path, mock_clock: MockClock) -> None:
    async with running(tmp_path, mock_clock) as disk:
        assert 0 < await disk.flush(ENOUGH) < ENOUGH
        assert await disk.flush(3) == 0


async def test_one_straggler_does_not_make_a_disk_slow(tmp_path: Path, mock_clock: MockClock) -> None:
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(ENOUGH)
        disk.takes_s = STRAGGLER_S
        assert await disk.flush(1) == 0
        disk.takes_s = QUICK_S
        assert await disk.flush(3) == 0


async def test_after_a_stall_the_disk_has_to_prove_itself_anew(tmp_path: Path, mock_clock: MockClock) -> None:
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(ENOUGH)
        disk.takes_s = STALL_S
        assert await disk.flush(2) == 1
        disk.takes_s = QUICK_S
        assert await disk.flush(ENOUGH) == ENOUGH
        assert await disk.flush(ENOUGH) < ENOUGH
        assert await disk.flush(3) == 0


async def test_a_slow_disk_never_holds_up_the_event_loop(tmp_path: Path, mock_clock: MockClock) -> None:
    async with running(tmp_path, mock_clock) as disk:
        disk.takes_s = STRAGGLER_S
        assert await disk.flush(ENOUGH) == ENOUGH


async def test_a_flush_goes_to_a_thread_if_the_caller_has_other_things_to_do(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(ENOUGH)
        disk.flushed.clear()
        before, disk.ended = disk.threads, trio.Event()
        disk.append()
        assert disk.flusher.flush(aside=True) is None
        await disk.ended.wait()
        assert disk.threads == before + 1
        assert [flushed.end_offset for flushed in disk.flushed] == [disk.log.end_offset]


async def test_one_flush_at_a_time(tmp_path: Path, mock_clock: MockClock) -> None:
    """A record that is appended during a flush is due for the next flush, however fast the disk is."""
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(ENOUGH)
        disk.ended = trio.Event()
        disk.append()
        assert disk.flusher.flush(aside=True) is None
        disk.append()
        assert disk.flusher.flush() is None
        assert disk.flusher.is_due
        await disk.flusher.idle()
        flushed = disk.flusher.flush()
        assert flushed is not None
        assert flushed.end_offset == disk.log.end_offset
        assert not disk.flusher.is_due


async def test_nothing_is_flushed_that_is_not_due(tmp_path: Path, mock_clock: MockClock) -> None:
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(ENOUGH)
        assert disk.flusher.flush() is None
        with trio.fail_after(1):
            await disk.flusher.idle()


@pytest.mark.parametrize("flushes_before", [0, ENOUGH])
async def test_a_covered_append_is_not_flushed_again(
    tmp_path: Path, mock_clock: MockClock, flushes_before: int
) -> None:
    """The flusher gets two reports of each append: from the appender, and from the core."""
    async with running(tmp_path, mock_clock) as disk:
        await disk.flush(flushes_before)
        disk.flushed.clear()
        await disk.flush(1)
        disk.flusher.want()
        assert not disk.flusher.is_due
        await trio.testing.wait_all_tasks_blocked()
        assert len(disk.flushed) == 1


@pytest.mark.parametrize("flushes_before", [0, ENOUGH])
async def test_a_failed_flush_is_an_error(tmp_path: Path, mock_clock: MockClock, flushes_before: int) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="no medium"), flatten_subgroups=True):
        async with running(tmp_path, mock_clock) as disk:
            await disk.flush(flushes_before)
            disk.fails = True
            await disk.flush(1)
