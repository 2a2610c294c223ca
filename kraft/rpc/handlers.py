"""The handlers of a plane: how many of its requests are handled at the same time, and how many are queued for that.

A handler is a place and no task. A request is handled in the task of its connection, which would only wait for another
task to do it, so a request costs no switch of tasks.
"""

from __future__ import annotations

import trio

from kraft.rpc.held import held


class Handlers:
    """``async with handlers``: have one of ``count`` handlers.

    At most ``queue_capacity`` requests wait for one in the queue, the oldest first; the others wait behind it, and
    their connections read nothing meanwhile.
    """

    def __init__(self, count: int, queue_capacity: int) -> None:
        self._idle = trio.Semaphore(count)
        self._queue = trio.Semaphore(queue_capacity)

    @property
    def queued(self) -> int:
        """How many requests are in the queue."""
        return self._idle.statistics().tasks_waiting

    async def __aenter__(self) -> None:
        try:
            self._idle.acquire_nowait()
        except trio.WouldBlock:
            async with held(self._queue):
                await self._idle.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._idle.release()
