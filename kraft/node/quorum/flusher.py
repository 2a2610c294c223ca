"""Makes the metadata log durable: one fsync at a time, for all that was appended before it began.

While the disk is quick that is done on the event loop, else on a worker thread: an fsync of a disk with a write cache
takes about as long as the way to a thread and back (0.15 ms), which costs the event loop no less than the fsync itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from kraft.node.quorum.log import MetadataLog
from kraft.raft.events import LogFlushed
from kraft.raft.log_view import LogView
from kraft.storage.flush import Flush

#: So long the event loop may stand still.
_QUICK_S = 0.001
#: So many flushes in a row must have been quick before one is trusted to be.
_TRIALS = 16


class Flusher:
    """The flushes of ``log``, which a core sees as ``view``.

    ``sync`` is what each of them does, and ``in_thread`` runs it on a worker thread. Whoever changes what is in the log
    already holds ``lock`` meanwhile. OSError ends a flush, and after it nothing is certain.
    """

    def __init__(
        self,
        log: MetadataLog,
        view: LogView,
        in_thread: Callable[..., Awaitable[Any]],
        sync: Callable[[Flush], None] = Flush.run,
    ) -> None:
        self.lock = trio.Lock()
        self.is_due = False
        """Whether the caller of ``want`` shall call ``flush`` as soon as it has appended all that it has at hand."""
        self._log = log
        self._view = view
        self._in_thread = in_thread
        self._sync = sync
        self._wanted = trio.Event()
        self._trials = _TRIALS

    def want(self) -> None:
        """Something was appended."""
        if self._trials:
            self._wanted.set()
        else:
            self.is_due = True

    def flush(self) -> LogFlushed | None:
        """Flush here and now; None if one is on its way, and what is due comes after it."""
        self.is_due = False
        if self.lock.locked():
            self._wanted.set()
            return None
        truncations = self._view.truncations
        flush = self._log.begin_flush()
        began = trio.current_time()
        self._sync(flush)
        return self._flushed(flush, truncations, began)

    async def run(self, report: Callable[[LogFlushed], Awaitable[None]]) -> None:
        """Flush on a thread, whenever that is wanted, and report each flush."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            async with self.lock:
                truncations = self._view.truncations
                flush = self._log.begin_flush()
                began = trio.current_time()
                await self._in_thread(self._sync, flush)
                flushed = self._flushed(flush, truncations, began)
            await report(flushed)

    def _flushed(self, flush: Flush, truncations: int, began: float) -> LogFlushed:
        self._log.flushed(flush)
        is_quick = trio.current_time() - began < _QUICK_S
        self._trials = max(0, self._trials - 1) if is_quick else _TRIALS
        return LogFlushed(flush.end_offset, truncations)
