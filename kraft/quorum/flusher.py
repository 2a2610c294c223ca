"""Makes the metadata log durable: one fsync at a time, for all that was appended before it began.

While the disk is quick that is done on the event loop, else on a worker thread: an fsync of a disk with a write cache
takes about as long as the way to a thread and back (0.15 ms), which costs the event loop no less than the fsync itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kraft.quorum.log import MetadataLog
from kraft.raft.events import LogFlushed
from kraft.raft.log_view import LogView
from kraft.storage.flush import Flush
from kraft.world.world import InThread

#: So long the event loop may stand still, on the average.
_QUICK_S = 0.002
#: The average is over about so many flushes: one straggler among quick ones changes nothing, a stall does.
_MEMORY = 16


class Flusher:
    """The flushes of ``log``, which a core sees as ``view``.

    ``sync`` is what each of them does, and ``in_thread`` runs it on a worker thread. Whoever changes what is in the log
    already holds ``lock`` meanwhile. OSError ends a flush, and after it nothing is certain.
    """

    def __init__(
        self,
        log: MetadataLog,
        view: LogView,
        in_thread: InThread,
        sync: Callable[[Flush], None],
    ) -> None:
        self.lock = trio.Lock()
        self.is_due = False
        """Whether ``flush`` is to be called as soon as all that is at hand is appended."""
        self._log = log
        self._view = view
        self._in_thread = in_thread
        self._sync = sync
        self._wanted = trio.Event()
        self._begun = -1, -1
        self._usual_s = 2 * _QUICK_S  # to be proved quick

    def want(self) -> None:
        """Something may have been appended or cut."""
        if self._is_begun:
            return
        if self._usual_s < _QUICK_S:
            self.is_due = True
        else:
            self._wanted.set()

    def flush(self) -> LogFlushed | None:
        """Flush here and now; None if one is on its way, and what is due comes after it."""
        self.is_due = False
        if self._is_begun:
            return None
        if self.lock.locked():
            self._wanted.set()
            return None
        flush = self._begin()
        began = trio.current_time()
        self._sync(flush)
        return self._end(flush, began)

    async def run(self, report: Callable[[LogFlushed], Awaitable[None]]) -> None:
        """Flush on a thread, whenever that is wanted, and report each flush."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            async with self.lock:
                if self._is_begun:
                    continue
                flush = self._begin()
                began = trio.current_time()
                await self._in_thread(self._sync, flush)
                flushed = self._end(flush, began)
            await report(flushed)

    @property
    def _is_begun(self) -> bool:
        """Whether a flush that covers all there is has begun."""
        return (self._log.end_offset, self._view.truncations) == self._begun

    def _begin(self) -> Flush:
        self._begun = self._log.end_offset, self._view.truncations
        return self._log.begin_flush()

    def _end(self, flush: Flush, began: float) -> LogFlushed:
        self._log.flushed(flush)
        self._usual_s += (trio.current_time() - began - self._usual_s) / _MEMORY
        return LogFlushed(*self._begun)
