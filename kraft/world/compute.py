"""Computation and disk access on worker threads, beside the event loop.

Compression and decompression let go of the interpreter's lock. Python code keeps it for 5 ms at a time, and the event
loop would wait for it at each of its system calls. So long Python code on a thread must let go of it by itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

import trio

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

LET_GO_S: Final = 0.000_2
"""Long enough for the operating system to wake the thread that waits for the lock."""

_DISK_THREADS: Final = 40
"""As many as Trio's default. Name lookups keep Trio's own threads: a lookup at a resolver that hangs does not end when
its caller gives up, and a vote must not wait for it.
"""

_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("kraft.world.compute")
_disk_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("kraft.world.in_thread")


async def in_thread(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """Return ``work(*arguments)``, called on a worker thread, where it may wait for the disk.

    A caller that is cancelled waits for the thread.
    """
    return await trio.to_thread.run_sync(work, *arguments, limiter=_limiter_of(_disk_limiter, _DISK_THREADS))


async def compute(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """Return ``work(*arguments)``, computed on a worker thread. One core is left to the event loop.

    A caller that is cancelled does not wait for the thread, so ``work`` must have no effect but its result.
    """
    limiter = _limiter_of(_limiter, max(1, (os.cpu_count() or 1) - 1))
    return await trio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True, limiter=limiter)


def _limiter_of(variable: trio.lowlevel.RunVar[trio.CapacityLimiter], threads: int) -> trio.CapacityLimiter:
    try:
        return variable.get()
    except LookupError:
        limiter = trio.CapacityLimiter(threads)
        variable.set(limiter)
        return limiter


def let_go() -> None:
    """Let the other threads have the interpreter's lock. Long Python code on a thread calls this every millisecond."""
    time.sleep(LET_GO_S)
