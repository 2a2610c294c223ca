"""``async with`` for what is seldom contended."""

from __future__ import annotations

import trio


class held:
    """``async with lock``, or a semaphore, without giving way to other tasks when it is free; may be used again."""

    __slots__ = ("_lock",)

    def __init__(self, lock: trio.Lock | trio.Semaphore) -> None:
        self._lock = lock

    async def __aenter__(self) -> None:
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
