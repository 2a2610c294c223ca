"""Flushes the metadata log: one fsync at a time, for all records appended before it began.

While the disk is fast, a follower or a single voter flushes on the event loop, and otherwise on a worker thread. With a
write cache, an fsync takes about as long as a round trip to a thread (0.15 ms), so the thread would save the event loop
nothing. A leader with other voters always flushes on the thread, while its followers fetch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kraft.quorum.log import MetadataLog
from kraft.raft.events import LogFlushed
from kraft.raft.log_view import LogView
from kraft.storage.flush import Flush
from kraft.world.world import InThread

#: A flush may block the event loop for this long on average, in seconds.
_QUICK_S = 0.002
#: The average is over about this many flushes. One slow flush among fast ones does not change the mode; a stall does.
_MEMORY = 16


class Flusher:
    """The flushes of ``log``, whose core sees it as ``view``. Only the driver of that core calls the methods.

    ``sync`` performs a flush, and ``in_thread`` runs it on a worker thread. After an OSError the content of the disk is
    unknown.
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
        self._usual_s = 2 * _QUICK_S  # A disk counts as slow until measured.

    def want(self) -> None:
        """Request a flush if the log has changed since the last one began."""
        if (self._log.end_offset, self._view.truncations) != self._begun:
            self.is_due = True

    def flush(self, *, aside: bool = False) -> LogFlushed | None:
        """Begin the flush that is due. Return LogFlushed if it ran on the event loop, else None.

        It runs on the event loop if the disk is fast and ``aside`` is False. Otherwise it runs on a thread, and ``run``
        reports its end. While a flush runs on the thread, no other one begins.
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
        """Return when no flush runs, so that the log may be truncated."""
        await self._ended.wait()

    async def run(self, report: Callable[[LogFlushed], Awaitable[None]]) -> None:
        """Run the flushes for the thread, and report the end of each."""
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
