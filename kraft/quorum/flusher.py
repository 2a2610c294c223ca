"""Makes the metadata log durable: one fsync at a time, for all that was appended before it began.

While the disk is quick the driver flushes on the event loop, else on a worker thread: an fsync of a disk with a write
cache takes about as long as the way to a thread and back (0.15 ms), which costs the event loop no less than the fsync.
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
    """The flushes of ``log``, which a core sees as ``view``. The driver of that core alone calls the methods.

    ``sync`` is what each flush does, and ``in_thread`` runs it on a worker thread. OSError ends a flush, and after it
    nothing is certain.
    """

    def __init__(
        self,
        log: MetadataLog,
        view: LogView,
        in_thread: InThread,
        sync: Callable[[Flush], None],
    ) -> None:
        self.is_due = False
        """Whether a flush is wanted that has not begun."""
        self._log = log
        self._view = view
        self._in_thread = in_thread
        self._sync = sync
        self._begun = -1, -1
        self._for_thread, self._on_thread = trio.open_memory_channel[Flush](1)
        self._ended = trio.Event()
        self._ended.set()
        self._usual_s = 2 * _QUICK_S  # to be proved quick

    def want(self) -> None:
        """Something may have been appended or cut."""
        if (self._log.end_offset, self._view.truncations) != self._begun:
            self.is_due = True

    def flush(self, *, aside: bool = False) -> LogFlushed | None:
        """Flush what is due: here and now if the disk is quick and the caller has nothing to do ``aside``.

        Else a thread does, and ``run`` reports it; one that is on its way has to end first. Both return None.
        """
        if not self.is_due or not self._ended.is_set():
            return None
        self.is_due = False
        self._begun = self._log.end_offset, self._view.truncations
        flush = self._log.begin_flush()
        if aside or self._usual_s >= _QUICK_S:
            self._ended = trio.Event()
            self._for_thread.send_nowait(flush)
            return None
        began = trio.current_time()
        self._sync(flush)
        return self._end(flush, began)

    async def idle(self) -> None:
        """Return once no flush is on its way: what it is about may be cut then."""
        await self._ended.wait()

    async def run(self, report: Callable[[LogFlushed], Awaitable[None]]) -> None:
        """Flush on a thread what is left to it, and report each flush."""
        async for flush in self._on_thread:
            began = trio.current_time()
            await self._in_thread(self._sync, flush)
            flushed = self._end(flush, began)
            self._ended.set()
            await report(flushed)

    def _end(self, flush: Flush, began: float) -> LogFlushed:
        self._log.flushed(flush)
        self._usual_s += (trio.current_time() - began - self._usual_s) / _MEMORY
        return LogFlushed(*self._begun)
