"""The state machine behind a simulated log, and its snapshots.

The state is a digest of all that was committed, which tells any two histories apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kraft.raft.events import LogTrimmed, SnapshotCreated, SnapshotRejected, SnapshotStored, StoreChunk
from kraft.raft.messages import SnapshotId

if TYPE_CHECKING:
    from kraft.simulation.node import SimulatedNode

EMPTY_STATE = 0
_PRIME = 2**61 - 1


def replay(state: int, entries: Iterable[tuple[int, int]]) -> int:
    """The state after more entries, each an (epoch, value)."""
    for epoch, value in entries:
        state = (state * 1_000_003 + epoch * 7_919 + value + 1) % _PRIME
    return state


class StateMachine:
    """What one process makes of what is committed: ``state`` after ``applied`` entries, and a snapshot now and then."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node
        self.applied = 0
        self.state = EMPTY_STATE
        self.pending: SnapshotId | None = None

    def load(self, snapshot: SnapshotId) -> None:
        """Begin from a snapshot on the disk."""
        self.applied, self.state = snapshot.end_offset, self.node.disk.snapshots[snapshot]

    def apply_committed(self) -> None:
        """Apply what was committed since, and begin a snapshot when enough was."""
        end = min(self.node.core.high_watermark, self.node.disk.log.end)
        if end > self.applied:
            entries = self.node.disk.log.read(self.applied, end)
            self.state = replay(self.state, entries)
            self.applied = end
            self.node.world.history.on_applied(self.node)
        newest = self.node.core.log.snapshot
        due = (newest.end_offset if newest else 0) + self.node.world.knobs.snapshot_interval
        if self.applied >= due and self.pending is None:
            self.pending = SnapshotId(self.applied, self.node.disk.log.at(self.applied - 1).epoch)
            at = self.node.world.now + self.node.fsync_time()
            self.node.world.call_at(at, self._snapshot_written, self.node.life, self.pending, self.state)

    def _snapshot_written(self, life: int, snapshot: SnapshotId, state: int) -> None:
        if not self.node.up or life != self.node.life:
            return
        self.pending = None
        self._keep_snapshot(snapshot, state)
        self.node.receive(life, SnapshotCreated(snapshot))
        log, busy = self.node.disk.log, self.node.writing or self.node.paused
        useful = log.start < snapshot.end_offset and log.holds(snapshot)
        if useful and not busy and self.node.chance.happens(0.7) and self.node.disk.trim(snapshot):
            self.node.world.cover("log trimmed")
            self.node.receive(life, LogTrimmed(snapshot))
            self.node.world.history.check_epochs(self.node)

    def _keep_snapshot(self, snapshot: SnapshotId, state: int) -> None:
        self.node.world.history.on_snapshot(self.node, snapshot, state)
        self.node.disk.snapshots[snapshot] = state
        for old in sorted(self.node.disk.snapshots)[:-3]:
            if old.end_offset != self.node.disk.durable.start:
                del self.node.disk.snapshots[old]

    def store(self, chunk: StoreChunk, state: int) -> None:
        """Take a piece of a leader's snapshot; with the last one it is checked and kept."""
        if not chunk.last:
            return
        if self.node.chance.happens(0.1):
            self.node.world.cover("snapshot rejected")
            self.node.receive(self.node.life, SnapshotRejected(chunk.snapshot))
            return
        at = self.node.world.now + self.node.fsync_time()
        self.node.world.call_at(at, self._snapshot_stored, self.node.life, chunk.snapshot, state)

    def _snapshot_stored(self, life: int, snapshot: SnapshotId, state: int) -> None:
        if self.node.up and life == self.node.life:
            self._keep_snapshot(snapshot, state)
            self.node.receive(life, SnapshotStored(snapshot))
