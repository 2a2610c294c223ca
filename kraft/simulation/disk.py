"""A disk that loses unsynced writes: a power cut keeps some of them, in write order, and may tear the next."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kraft.raft.log_view import LogView
from kraft.raft.messages import SnapshotId
from kraft.raft.state import ElectionState
from kraft.simulation.random_stream import RandomStream


class Entry(NamedTuple):
    """One record of the log: its epoch and its value. The value of a LeaderChange is negative."""

    epoch: int
    value: int


class SimulatedLog:
    """Entries from offset ``start`` on. ``start_epoch`` is the epoch of the entry before ``start``."""

    def __init__(self, entries: list[Entry], start: int = 0, start_epoch: int = 0) -> None:
        self.entries = entries
        self.start = start
        self.start_epoch = start_epoch

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    def at(self, offset: int) -> Entry:
        return self.entries[offset - self.start]

    def read(self, start: int, end: int) -> tuple[Entry, ...]:
        return tuple(self.entries[start - self.start : end - self.start])

    def holds(self, snapshot: SnapshotId) -> bool:
        """Return whether the log holds the last record that the snapshot covers, and so all records before it."""
        if snapshot.end_offset == self.start:
            return snapshot.epoch == self.start_epoch
        inside = self.start < snapshot.end_offset <= self.end
        return inside and self.at(snapshot.end_offset - 1).epoch == snapshot.epoch

    def cut(self, end: int) -> None:
        del self.entries[end - self.start :]

    def trim(self, snapshot: SnapshotId) -> None:
        del self.entries[: snapshot.end_offset - self.start]
        self.start, self.start_epoch = snapshot

    def reset(self, snapshot: SnapshotId) -> None:
        self.entries.clear()
        self.start, self.start_epoch = snapshot

    def copy(self) -> SimulatedLog:
        return SimulatedLog(self.entries.copy(), self.start, self.start_epoch)


@attrs.frozen
class Append:
    entries: tuple[Entry, ...]


@attrs.frozen
class Cut:
    end: int


@attrs.frozen
class Reset:
    snapshot: SnapshotId


Write = Append | Cut | Reset


def _apply(log: SimulatedLog, write: Write) -> None:
    match write:
        case Append(entries):
            log.entries.extend(entries)
        case Cut(end):
            log.cut(end)
        case Reset(snapshot):
            log.reset(snapshot)


class Disk:
    """The disk of one node. The running node sees ``log``, a restarted one finds ``durable``, ``unsynced`` is the
    difference.

    ``snapshots`` maps each snapshot to the digest of its state. ``election`` is always replaced as a whole.
    """

    def __init__(self) -> None:
        self.wipe()

    def wipe(self) -> None:
        self.log = SimulatedLog([])
        self.durable = SimulatedLog([])
        self.unsynced: list[Write] = []
        self.synced = 0
        self.snapshots: dict[SnapshotId, int] = {}
        self.election = ElectionState()
        self.rotten = False

    def write(self, write: Write) -> None:
        _apply(self.log, write)
        self.unsynced.append(write)

    def written(self) -> int:
        """Return the number of all writes so far. A sync that begins now makes this many durable."""
        return self.synced + len(self.unsynced)

    def sync(self, written: int) -> None:
        """Make the first ``written`` writes durable."""
        count = max(written - self.synced, 0)
        for write in self.unsynced[:count]:
            _apply(self.durable, write)
        del self.unsynced[:count]
        self.synced += count

    def trim(self, snapshot: SnapshotId) -> bool:
        """Delete the records that the snapshot covers. Return False and delete nothing while any write is unsynced."""
        if self.unsynced:
            return False
        self.log.trim(snapshot)
        self.durable.trim(snapshot)
        return True

    def lose_power(self, rng: RandomStream) -> bool:
        """Cut the power: keep a random number of unsynced writes. Return whether the next write was torn."""
        kept = rng.below(len(self.unsynced) + 1)
        torn = None
        if kept < len(self.unsynced) and rng.happens(0.5):
            torn = self.unsynced[kept]
        self.sync(self.synced + kept)
        if isinstance(torn, Append):
            self.durable.entries.extend(torn.entries[: rng.below(len(torn.entries))])
        self.forget_unsynced()
        return isinstance(torn, Append) and len(torn.entries) > 1

    def forget_unsynced(self) -> None:
        self.unsynced.clear()
        self.log = self.durable.copy()

    def recover(self) -> LogView:
        """Return the log as a starting node finds it.

        A snapshot that the log does not contain came from a leader. It replaces the log.
        """
        newest = max(self.snapshots, default=None)
        if newest is not None and not self.durable.holds(newest) and newest.end_offset > self.durable.start:
            self.durable.reset(newest)
        self.log = self.durable.copy()
        epochs: list[tuple[int, int]] = []
        for offset, entry in enumerate(self.log.entries, self.log.start):
            if not epochs or epochs[-1][0] != entry.epoch:
                epochs.append((entry.epoch, offset))
        return LogView(epochs, self.log.end, self.log.start, self.log.start_epoch, newest)
