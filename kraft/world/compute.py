"""Computation on worker threads, for libraries that let go of the interpreter's lock: compression and decompression.

Python code does not belong here. It keeps the lock, so the event loop would wait for it at each of its system calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

import trio

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("kraft.world.compute")


async def compute(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """Return ``work(*arguments)``, computed on a worker thread. One core is left to the event loop.

    A caller that is cancelled does not wait for the thread, so ``work`` must have no effect but its result.
    """
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = trio.CapacityLimiter(max(1, (os.cpu_count() or 1) - 1))
        _limiter.set(limiter)
    return await trio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True, limiter=limiter)
