"""Keeps what a leader sends of a snapshot, and looks through the whole before the log may rest on it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import trio

from kraft.quorum.log import MetadataLog
from kraft.raft.events import SnapshotRejected, SnapshotStored, StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.world.world import InThread


class SnapshotCheck:
    """The snapshots that ``log`` is sent. ``in_thread`` runs the check on a worker thread."""

    def __init__(self, log: MetadataLog, in_thread: InThread) -> None:
        self._log = log
        self._in_thread = in_thread
        self._unchecked, self._to_check = trio.open_memory_channel[SnapshotId](1)

    def store(self, chunk: StoreChunk, data: bytes) -> bool:
        """Keep a piece, and have the whole looked through after the last; False if it does not fit the others."""
        if not self._log.store_chunk(chunk, data):
            return False
        if chunk.last:
            with contextlib.suppress(trio.WouldBlock):
                self._to_check.receive_nowait()  # nobody asks for that of a former leader any more
            self._unchecked.send_nowait(chunk.snapshot)
        return True

    async def run(self, report: Callable[[SnapshotStored | SnapshotRejected], Awaitable[None]]) -> None:
        """Check, and report, each snapshot that is whole."""
        async for snapshot in self._to_check:
            sound = await self._in_thread(self._log.complete_snapshot, snapshot)
            await report(SnapshotStored(snapshot) if sound else SnapshotRejected(snapshot))
