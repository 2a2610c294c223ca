"""Flushes of the metadata log: none holds up the event loop on a disk that was slow a moment ago."""

from __future__ import annotations

import threading

import attrs
import pytest

from kraft.node.quorum.flusher import Flusher
from kraft.storage.flush import Flush

FLUSH = Flush(0, (), (), ())
TRIALS = 16


@attrs.define
class Disk:
    """Takes the time that it is told to, by its own clock."""

    takes_s: float = 0.0001
    now: float = 0.0
    fails: bool = False
    threads: list[threading.Thread] = attrs.Factory(list)

    def run(self, flush: Flush) -> None:
        self.threads.append(threading.current_thread())
        self.now += self.takes_s
        if self.fails:
            raise OSError("no medium")

    def clock(self) -> float:
        return self.now


async def beside(disk: Disk, flusher: Flusher, count: int) -> list[bool]:
    """Which of the next ``count`` flushes ran beside the event loop."""
    disk.threads.clear()
    for _ in range(count):
        await flusher(FLUSH)
    return [thread is not threading.current_thread() for thread in disk.threads]


async def test_a_disk_that_is_quick_needs_no_thread() -> None:
    disk = Disk()
    flusher = Flusher(disk.run, disk.clock)
    assert await beside(disk, flusher, TRIALS + 3) == [True] * TRIALS + [False] * 3


async def test_after_one_slow_flush_the_disk_is_tried_anew() -> None:
    disk = Disk()
    flusher = Flusher(disk.run, disk.clock)
    await beside(disk, flusher, TRIALS - 1)
    disk.takes_s = 0.01
    assert await beside(disk, flusher, 3 * TRIALS) == [True] * 3 * TRIALS
    disk.takes_s = 0.0001
    assert await beside(disk, flusher, TRIALS + 1) == [True] * TRIALS + [False]
    disk.takes_s = 0.01
    assert await beside(disk, flusher, 2) == [False, True]


@pytest.mark.parametrize("flushes_before", [0, TRIALS])
async def test_a_flush_that_fails_says_so(flushes_before: int) -> None:
    disk = Disk()
    flusher = Flusher(disk.run, disk.clock)
    await beside(disk, flusher, flushes_before)
    disk.fails = True
    with pytest.raises(OSError, match="no medium"):
        await flusher(FLUSH)
