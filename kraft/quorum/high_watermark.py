"""The high watermark of a node, and the tasks that wait for it."""

from __future__ import annotations

import trio


class HighWatermark:
    """All records below ``offset`` are committed. It never decreases."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self._changed = trio.Event()

    def advance(self, offset: int) -> None:
        """Store a new high watermark and wake the waiting tasks."""
        self.offset = offset
        self.wake()

    def wake(self) -> None:
        """Wake the waiting tasks without an advance, so that they see a change of the leadership."""
        self._changed.set()
        self._changed = trio.Event()

    async def change(self) -> None:
        """Return at the next advance or ``wake``. A task checks its condition first, and again after this."""
        await self._changed.wait()
