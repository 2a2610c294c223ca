"""What was ever proposed, written and committed in a world, and whether the logs and snapshots of its nodes agree.

The first leader to commit an offset puts it into ``committed``, and everybody is held to it from then on.
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
    """What the invariants see of a node."""

    node_id: int
    up: bool
    stopping: bool
    disk: Disk
    core: RaftCore

    def now(self) -> float: ...


class History:
    """The records of one world. ``states[n]`` is the state that the first ``n`` committed ones lead to.

    ``cover`` counts that a state worth reaching was reached.
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
        """One epoch has one record at an offset, wherever it is (Raft's Log Matching)."""
        for offset, entry in enumerate(entries, base):
            known = self._written.setdefault((offset, entry.epoch), entry.value)
            if known != entry.value:
                text = f"{node.node_id} appends {entry} at {offset}, where epoch {entry.epoch} had {known}"
                raise Violation("LogMatching", text)

    def before_truncation(self, node: Observed, end: int) -> None:
        """A leader has all that was committed up to its epoch, so nobody cuts that to be like it.

        Who still follows a leader of old may have to cut what a newer one, that has it too, commits without them.
        """
        self.cover("diverging log cut")
        known = end < len(self.committed) and self._committed_in(end) <= node.core.epoch
        if end < node.core.high_watermark or (known and node.disk.log.at(end) == self.committed[end]):
            raise Violation("TruncateBelowHW", f"{node.node_id} cuts at {end}, which it has and is committed")

    def _committed_in(self, offset: int) -> int:
        """The epoch in which a leader first committed an offset."""
        return next(epoch for epoch, end in self._commit_epochs if end > offset)

    def check_log(self, node: Observed) -> None:
        """A core knows its log, which begins where a snapshot ends."""
        log, view = node.disk.log, node.core.log
        last_epoch = log.entries[-1].epoch if log.entries else log.start_epoch
        known = (view.start_offset, view.start_epoch, view.end_offset, view.last_epoch)
        if known != (log.start, log.start_epoch, log.end, last_epoch) or not _is_durable(node, view.durable_offset):
            raise Violation("CoreKnowsItsLog", f"{node.node_id} believes in {known}, durable to {view.durable_offset}")
        if log.start and (log.start, log.start_epoch) not in node.disk.snapshots:
            raise Violation("SnapshotAtLogStart", f"{node.node_id} begins at {log.start}, without a snapshot there")
        if self._newest_epochs.get(node.node_id) != last_epoch:
            self.check_epochs(node)

    def check_epochs(self, node: Observed) -> None:
        """A core knows which epoch wrote what, and where each begins.

        That changes with a start, a cut, a snapshot in the place of the log, a trim, and with the first record of an
        epoch, which ``check_log`` sees.
        """
        log, known = node.disk.log, node.core.log.epochs
        changes = [
            (entry.epoch, offset)
            for offset, entry in enumerate(log.entries, log.start)
            if offset == log.start or log.at(offset - 1).epoch != entry.epoch
        ]
        if known != changes:
            raise Violation("CoreKnowsItsLog", f"{node.node_id} believes in epochs {known}, its log has {changes}")
        self._newest_epochs[node.node_id] = node.core.log.last_epoch

    def on_fetch(self, node: Observed, request: FetchRequest) -> None:
        if not _is_durable(node, request.fetch_offset):
            raise Violation("FetchedIsDurable", f"{node.node_id} claims {request.fetch_offset}")

    # Committing.

    def on_commit(self, node: Observed, epoch: int, end: int) -> None:
        """A majority of the voters holds what a leader calls committed, durably."""
        log = node.disk.log
        for offset in range(len(self.committed), end):
            entry = log.at(offset)
            self.committed.append(entry)
            self.states.append(replay(self.states[-1], (entry,)))
        if not self._commit_epochs or self._commit_epochs[-1][1] < end:
            self._commit_epochs.append((epoch, end))
        holders = self.holders(end)
        if len(holders) < self.majority:
            text = f"{node.node_id} committed {end - 1} in epoch {epoch}, durable at {holders} only"
            raise Violation("MajorityReachedHighWatermark", text)

    def on_disk_changed(self) -> None:
        """Nothing that was committed is ever on fewer disks than a majority needs."""
        holders = self.holders(len(self.committed))
        if len(holders) < self.majority:
            raise Violation("AckedValueNotLost", f"{len(self.committed)} are committed, but {holders} alone have them")

    def on_leader(self, node: Observed, epoch: int) -> None:
        """What was committed in an epoch is in the log of each leader of a later one."""
        needed = max((end for committed_in, end in self._commit_epochs if committed_in < epoch), default=0)
        log = node.disk.log
        if log.end < needed:
            text = f"{node.node_id} leads epoch {epoch} with a log to {log.end}, but {needed} are committed"
            raise Violation("LeaderCompleteness", text)
        if needed > log.start and log.at(needed - 1) != self.committed[needed - 1]:
            raise Violation("LeaderCompleteness", f"{node.node_id} leads epoch {epoch} with another {needed - 1}")

    def holders(self, end: int) -> list[int]:
        """The voters that have everything committed below ``end``."""
        return [voter for voter in self.voters if self._holds(voter, end)]

    def _holds(self, voter: int, end: int) -> bool:
        """Whether a voter would still have everything committed below ``end`` if its power went now."""
        disk = self.nodes[voter].disk
        if disk.rotten:
            return False
        durable = disk.durable
        if end <= durable.start or any(snapshot.end_offset >= end for snapshot in disk.snapshots):
            return True
        return durable.end >= end and durable.at(end - 1) == self.committed[end - 1]

    # Applying.

    def on_applied(self, node: Observed, end: int, state: int) -> None:
        """Committed data is the same everywhere, and never changes."""
        if end > len(self.committed):
            raise Violation("NoLogDivergence", f"{node.node_id} applied {end - 1}, never committed")
        if state != self.states[end]:
            raise Violation("NoLogDivergence", f"{node.node_id} differs from what was committed below {end}")

    def on_snapshot(self, node: Observed, snapshot: SnapshotId, state: int) -> None:
        """A snapshot, written or found or fetched, is what was committed."""
        end, epoch = snapshot
        right = 0 < end <= len(self.committed) and (self.committed[end - 1].epoch, self.states[end]) == (epoch, state)
        if not right:
            raise Violation("ConsistentCommittedData", f"{snapshot} of {node.node_id} differs from what was committed")

    def at_end(self, alive: Sequence[Observed], first_value: int) -> None:
        """Every log holds what is committed, so does every snapshot; nothing before ``first_value`` is open."""
        for node in alive:
            log = node.disk.log
            end = min(node.core.high_watermark, log.end)
            if list(log.read(log.start, end)) != self.committed[log.start : end]:
                raise Violation("NoLogDivergence", f"the log of {node.node_id} is not what was committed")
            left = [entry for entry in log.read(end, log.end) if entry.value < first_value]
            if left:
                raise Violation("ValuesEventuallyAcked", f"{node.node_id} holds {left}, neither committed nor cut")
            for snapshot, state in node.disk.snapshots.items():
                self.on_snapshot(node, snapshot, state)


def _is_durable(node: Observed, end: int) -> bool:
    """Whether a node would still have its log below ``end``, or a snapshot of it, if its power went now."""
    log, durable, snapshots = node.disk.log, node.disk.durable, node.disk.snapshots
    if end <= log.start or (snapshots and max(snapshots).end_offset >= end):
        return True
    return durable.start < end <= durable.end and durable.at(end - 1) == log.at(end - 1)
