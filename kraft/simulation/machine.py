"""The state machine over a simulated log, and its snapshots.

The state is a digest of all committed records, so that any two histories have different states.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft.raft.messages import SnapshotId
from kraft.simulation.disk import Disk

EMPTY_STATE = 0
_PRIME = 2**61 - 1
_KEPT_SNAPSHOTS = 3


def replay(state: int, entries: Iterable[tuple[int, int]]) -> int:
    """Return the state after more entries, each an (epoch, value)."""
    for epoch, value in entries:
        state = (state * 1_000_003 + epoch * 7_919 + value + 1) % _PRIME
    return state


class StateMachine:
    """The state machine of one process: ``state`` is its state after ``applied`` entries."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.applied = 0
        self.state = EMPTY_STATE
        self.pending: SnapshotId | None = None

    def load(self, snapshot: SnapshotId) -> None:
        """Start from a snapshot on the disk."""
        self.applied, self.state = snapshot.end_offset, self.disk.snapshots[snapshot]

    def apply(self, high_watermark: int) -> bool:
        """Apply the newly committed entries. Return whether there were any."""
        end = min(high_watermark, self.disk.log.end)
        if end <= self.applied:
            return False
        self.state = replay(self.state, self.disk.log.read(self.applied, end))
        self.applied = end
        return True

    def begin_snapshot(self, newest: SnapshotId | None, interval: int) -> SnapshotId | None:
        """Return the snapshot to write now: at least ``interval`` entries after the ``newest``, and one at a time."""
        due = (newest.end_offset if newest else 0) + interval
        if self.applied < due or self.pending is not None:
            return None
        self.pending = SnapshotId(self.applied, self.disk.log.at(self.applied - 1).epoch)
        return self.pending

    def keep(self, snapshot: SnapshotId, state: int) -> None:
        """Store a snapshot. Delete old ones, except the one at the start of the log."""
        self.disk.snapshots[snapshot] = state
        for old in sorted(self.disk.snapshots)[:-_KEPT_SNAPSHOTS]:
            if old.end_offset != self.disk.durable.start:
                del self.disk.snapshots[old]
