"""Runs the flushes of the metadata log: on the event loop while the disk is quick, else on a worker thread.

An fsync of a disk with a write cache takes about as long as the way to a thread and back (0.15 ms), which costs the
event loop no less than the fsync itself would.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

from kraft.storage.flush import Flush

#: What makes a flush durable. Raises OSError, after which nothing is certain.
RunFlush: TypeAlias = Callable[[Flush], Awaitable[None]]

#: So long the event loop may stand still.
_QUICK_S = 0.001
#: So many flushes in a row must have been quick before one is trusted to be.
_TRIALS = 16


class Flusher:
    """Runs one flush at a time; ``run`` is what it does with each, ``clock`` tells seconds."""

    def __init__(
        self, run: Callable[[Flush], None] = Flush.run, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._run = run
        self._clock = clock
        self._trials = _TRIALS

    async def __call__(self, flush: Flush) -> None:
        """Return once ``flush`` is durable. Raises OSError. Not always a checkpoint."""
        if self._trials:
            await trio.to_thread.run_sync(self._timed, flush)
        else:
            self._timed(flush)

    def _timed(self, flush: Flush) -> None:
        began = self._clock()
        self._run(flush)
        quick = self._clock() - began <= _QUICK_S
        self._trials = max(0, self._trials - 1) if quick else _TRIALS
