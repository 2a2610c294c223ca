"""All records that a world appended and committed, and the checks of logs and snapshots against them.

The first leader to commit an offset adds it to ``committed``. From then on every node must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kraft.raft.core import RaftCore
from kraft.raft.messages import FetchRequest, SnapshotId
from kraft.simulation.disk import Disk, Entry
from kraft.simulation.invariants import Violation
from kraft.simulation.machine import EMPTY_STATE, replay


class Observed(Protocol):
    """The fields of a node that the invariants read."""

    node_id: int
    up: bool
    stopping: bool
    disk: Disk
    core: RaftCore

    def now(self) -> float: ...


class History:
    """The records of one world. ``states[n]`` is the state after the first ``n`` committed records.

    ``cover`` counts that the world reached a state of interest.
    """

    def __init__(self, voters: tuple[int, ...], nodes: Mapping[int, Observed], cover: Callable[[str], None]) -> None:
        self.voters = voters
        self.majority = len(voters) // 2 + 1
        self.nodes = nodes
        self.cover = cover
        self.committed: list[Entry] = []
        self.states = [EMPTY_STATE]
        self._commit_epochs: list[tuple[int, int]] = []
        self._written: dict[tuple[int, int], int] = {}
        self._newest_epochs: dict[int, int] = {}

    # Writing.

    def on_append(self, node: Observed, base: int, entries: tuple[Entry, ...]) -> None:
        """Check that an epoch has one record at an offset in all logs (Raft's Log Matching)."""
        for offset, entry in enumerate(entries, base):
            known = self._written.setdefault((offset, entry.epoch), entry.value)
            if known != entry.value:
                text = f"node {node.node_id} appends {entry} at {offset}, where epoch {entry.epoch} had {known}"
                raise Violation("LogMatching", text)

    def before_truncation(self, node: Observed, end: int) -> None:
        """Check that a node truncates no record below its high watermark, nor one committed up to its epoch.

        A leader holds all records committed up to its epoch, so its followers need not truncate them. A follower of an
        older leader may truncate records that a newer leader, which also holds them, commits without the follower.
        """
        self.cover("diverging log cut")
        known = end < len(self.committed) and self._committed_in(end) <= node.core.epoch
        if end < node.core.high_watermark or (known and node.disk.log.at(end) == self.committed[end]):
            raise Violation("TruncateBelowHW", f"node {node.node_id} truncates committed records at {end}")

    def _committed_in(self, offset: int) -> int:
        """Return the epoch in which a leader first committed an offset."""
        return next(epoch for epoch, end in self._commit_epochs if end > offset)

    def check_log(self, node: Observed) -> None:
        """Check that a core's view equals its log, and that a log that was trimmed starts at a snapshot."""
        log, view = node.disk.log, node.core.log
        last_epoch = log.entries[-1].epoch if log.entries else log.start_epoch
        known = (view.start_offset, view.start_epoch, view.end_offset, view.last_epoch)
        if known != (log.start, log.start_epoch, log.end, last_epoch) or not _is_durable(node, view.durable_offset):
            raise Violation("CoreKnowsItsLog", f"core {node.node_id} has {known}, durable to {view.durable_offset}")
        if log.start and (log.start, log.start_epoch) not in node.disk.snapshots:
            raise Violation("SnapshotAtLogStart", f"node {node.node_id} has no snapshot at its log start {log.start}")
        if self._newest_epochs.get(node.node_id) != last_epoch:
            self.check_epochs(node)

    def check_epochs(self, node: Observed) -> None:
        """Check that a core knows the start offset of each epoch in its log.

        Epochs change at a start, a truncation, an installed snapshot and a trim, and with the first record of an epoch.
        ``check_log`` detects the last case.
        """
        log, known = node.disk.log, node.core.log.epochs
        changes = [
            (entry.epoch, offset)
            for offset, entry in enumerate(log.entries, log.start)
            if offset == log.start or log.at(offset - 1).epoch != entry.epoch
        ]
        if known != changes:
            raise Violation("CoreKnowsItsLog", f"core {node.node_id} has epochs {known}, its log {changes}")
        self._newest_epochs[node.node_id] = node.core.log.last_epoch

    def on_fetch(self, node: Observed, request: FetchRequest) -> None:
        if not _is_durable(node, request.fetch_offset):
            raise Violation("FetchedIsDurable", f"node {node.node_id} fetches from {request.fetch_offset}")

    # Committing.

    def on_commit(self, node: Observed, epoch: int, end: int) -> None:
        """Check that a majority of the voters holds the newly committed records durably."""
        log = node.disk.log
        for offset in range(len(self.committed), end):
            entry = log.at(offset)
            self.committed.append(entry)
            self.states.append(replay(self.states[-1], (entry,)))
        if not self._commit_epochs or self._commit_epochs[-1][1] < end:
            self._commit_epochs.append((epoch, end))
        holders = self.holders(end)
        if len(holders) < self.majority:
            text = f"node {node.node_id} committed {end - 1} in epoch {epoch}, durable at {holders} only"
            raise Violation("MajorityReachedHighWatermark", text)

    def on_disk_changed(self) -> None:
        """Check that a majority of the voters still holds all committed records."""
        holders = self.holders(len(self.committed))
        if len(holders) < self.majority:
            raise Violation("AckedValueNotLost", f"only {holders} hold all {len(self.committed)} committed records")

    def on_leader(self, node: Observed, epoch: int) -> None:
        """Check that a new leader's log holds every record committed in an earlier epoch."""
        needed = max((end for committed_in, end in self._commit_epochs if committed_in < epoch), default=0)
        log = node.disk.log
        if log.end < needed:
            text = f"leader {node.node_id} of epoch {epoch} has a log to {log.end}, but {needed} records are committed"
            raise Violation("LeaderCompleteness", text)
        if needed > log.start and log.at(needed - 1) != self.committed[needed - 1]:
            raise Violation("LeaderCompleteness", f"leader {node.node_id} of epoch {epoch} differs at {needed - 1}")

    def holders(self, end: int) -> list[int]:
        """Return the voters that hold all committed records below ``end``."""
        return [voter for voter in self.voters if self._holds(voter, end)]

    def _holds(self, voter: int, end: int) -> bool:
        """Return whether a voter would still hold all committed records below ``end`` after a power cut now."""
        disk = self.nodes[voter].disk
        if disk.rotten:
            return False
        durable = disk.durable
        if end <= durable.start or any(snapshot.end_offset >= end for snapshot in disk.snapshots):
            return True
        return durable.end >= end and durable.at(end - 1) == self.committed[end - 1]

    # Applying.

    def on_applied(self, node: Observed, end: int, state: int) -> None:
        """Check that a node applied committed records only, and reached the same state as all others."""
        if end > len(self.committed):
            raise Violation("NoLogDivergence", f"node {node.node_id} applied {end - 1}, which is not committed")
        if state != self.states[end]:
            raise Violation("NoLogDivergence", f"node {node.node_id} has another state at {end} than the committed one")

    def on_snapshot(self, node: Observed, snapshot: SnapshotId, state: int) -> None:
        """Check that a snapshot that was written, found or fetched holds the committed state."""
        end, epoch = snapshot
        right = 0 < end <= len(self.committed) and (self.committed[end - 1].epoch, self.states[end]) == (epoch, state)
        if not right:
            raise Violation("ConsistentCommittedData", f"{snapshot} of node {node.node_id} is not the committed state")

    def at_end(self, alive: Sequence[Observed], first_value: int) -> None:
        """Check that every log and snapshot agrees with ``committed``, and that no value before ``first_value`` is
        undecided.
        """
        for node in alive:
            log = node.disk.log
            end = min(node.core.high_watermark, log.end)
            if list(log.read(log.start, end)) != self.committed[log.start : end]:
                raise Violation("NoLogDivergence", f"the log of {node.node_id} differs from the committed records")
            left = [entry for entry in log.read(end, log.end) if entry.value < first_value]
            if left:
                raise Violation("ValuesEventuallyAcked", f"node {node.node_id} still has {left} uncommitted")
            for snapshot, state in node.disk.snapshots.items():
                self.on_snapshot(node, snapshot, state)


def _is_durable(node: Observed, end: int) -> bool:
    """Return whether a node would still have its log below ``end``, or a snapshot of it, after a power cut now."""
    log, durable, snapshots = node.disk.log, node.disk.durable, node.disk.snapshots
    if end <= log.start or (snapshots and max(snapshots).end_offset >= end):
        return True
    return durable.start < end <= durable.end and durable.at(end - 1) == log.at(end - 1)
