"""Stores the chunks of a leader's snapshot, and checks the whole before the log may begin at its end."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import trio

from kraft.quorum.log import MetadataLog
from kraft.raft.events import SnapshotRejected, SnapshotStored, StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.world.world import InThread


class SnapshotCheck:
    """The snapshots that ``log`` fetches. ``in_thread`` runs the check on a worker thread."""

    def __init__(self, log: MetadataLog, in_thread: InThread) -> None:
        self._log = log
        self._in_thread = in_thread
        self._unchecked, self._to_check = trio.open_memory_channel[SnapshotId](1)

    def store(self, chunk: StoreChunk) -> bool:
        """Store a chunk, and begin the check after the last one. Return False if it does not continue the others."""
        if not self._log.store_chunk(chunk):
            return False
        if chunk.last:
            with contextlib.suppress(trio.WouldBlock):
                self._to_check.receive_nowait()  # An unchecked snapshot of a former leader is no longer needed.
            self._unchecked.send_nowait(chunk.snapshot)
        return True

    async def run(self, report: Callable[[SnapshotStored | SnapshotRejected], Awaitable[None]]) -> None:
        """Check each complete snapshot, and report the outcome."""
        async for snapshot in self._to_check:
            sound = await self._in_thread(self._log.complete_snapshot, snapshot)
            await report(SnapshotStored(snapshot) if sound else SnapshotRejected(snapshot))
