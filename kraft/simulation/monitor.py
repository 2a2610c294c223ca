"""What must be true of a quorum after every event; the names are those of Kafka's own specifications and simulations.

The monitor sees all nodes and their disks, which no node can. What was ever committed is kept in ``committed``: the
first leader to commit an offset writes it there, and everybody is held to it from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kraft.raft.events import Effects, Event, RequestReceived, Timeout
from kraft.raft.messages import FetchRequest, FetchSnapshotRequest, Request, Response, VoteRequest, VoteResponse
from kraft.raft.state import TRANSITIONS, Follower, Leader, State, Unattached
from kraft.simulation.disk import Entry
from kraft.simulation.machine import EMPTY_STATE, replay

if TYPE_CHECKING:
    from kraft.simulation.node import SimulatedNode
    from kraft.simulation.world import World

_LEGAL = frozenset((before.__name__, after.__name__) for before, after in TRANSITIONS)


class Violation(Exception):
    """An invariant does not hold. ``invariant`` is its name."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant


def require(condition: bool, invariant: str, text: str) -> None:
    if not condition:
        raise Violation(invariant, text)


class Monitor:
    """The invariants of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.committed: list[Entry] = []
        self.states = [EMPTY_STATE]
        self.commit_epochs: list[tuple[int, int]] = []
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], int] = {}
        self.written: dict[tuple[int, int], int] = {}
        self.high_watermarks: dict[int, int] = {}
        self.durable_epochs: dict[int, int] = {}
        self.proposed: dict[int, tuple[int, int]] = {}
        self.spoken_epochs: dict[int, int] = {}
        self.heard: dict[tuple[int, int], dict[int, float]] = {}
        self.acknowledged = 0

    # After each event.

    def on_start(self, node: SimulatedNode) -> None:
        self.high_watermarks[node.node_id] = node.core.high_watermark
        spoken, epoch = self.spoken_epochs.get(node.node_id, 0), node.core.epoch
        require(epoch >= spoken, "MonotonicEpoch", f"{node.node_id} starts in epoch {epoch}, but spoke of {spoken}")
        self._check_snapshot_at_log_start(node)
        self._check_state(node, node.core.state)
        require(
            node.machine.applied <= len(self.committed) and node.machine.state == self.states[node.machine.applied],
            "ConsistentCommittedData",
            f"{node.node_id} starts from a snapshot at {node.machine.applied} that differs from what was committed",
        )

    def on_kill(self, node: SimulatedNode) -> None:
        self.high_watermarks.pop(node.node_id, None)

    def forget(self, node_id: int) -> None:
        """A node with a new disk is a new node, though it goes by the old name."""
        self.durable_epochs.pop(node_id, None)
        self.spoken_epochs.pop(node_id, None)
        self.votes = {key: candidate for key, candidate in self.votes.items() if key[0] != node_id}

    def after_step(self, node: SimulatedNode, before: State, event: Event, effects: Effects) -> None:
        """Check one step of one node."""
        core = node.core
        state = core.state
        if state is not before:
            self._check_state(node, state)
            require(state.epoch >= before.epoch, "MonotonicEpoch", f"{node.node_id}: {before} -> {state}")
        for transition in effects.transitions:
            legal = (transition.before, transition.after) in _LEGAL
            require(legal, "LegalTransitions", f"{node.node_id}: {transition}")
            self.world.cover(f"{transition.before} -> {transition.after}")
        for verdict in effects.verdicts:
            self.world.cover(f"{'granted' if verdict.granted else 'refused'}: {verdict.reason.name}")
        before_mark = self.high_watermarks.get(node.node_id, 0)
        require(core.high_watermark >= before_mark, "MonotonicHighWatermark", f"{node.node_id} went back")
        if core.high_watermark > before_mark:
            self.high_watermarks[node.node_id] = core.high_watermark
            if isinstance(state, Leader):
                self._check_commit(node, state, core.high_watermark)
        if isinstance(state, Leader):
            self._check_quorum(node, state, event)
        if effects.install is not None:
            require(isinstance(state, Follower), "LeaderNeverLoadSnapshot", f"{node.node_id}: {state}")
            self.world.cover("snapshot installed")

    def _check_quorum(self, node: SimulatedNode, state: Leader, event: Event) -> None:
        """A leader that heard from no majority for 1.5 times the fetch timeout leads no more."""
        life = (node.node_id, state.epoch)
        heard = self.heard.setdefault(life, dict.fromkeys(self.world.voters, node.now()))
        if isinstance(event, RequestReceived) and isinstance(event.request, FetchRequest | FetchSnapshotRequest):
            heard[event.request.replica_id] = node.now()
        elif isinstance(event, Timeout):
            others = sorted((heard[voter] for voter in self.world.voters if voter != node.node_id), reverse=True)
            majority = len(self.world.voters) // 2
            limit = 1.5 * self.world.knobs.timing.fetch_timeout_s + 0.001
            fresh = majority == 0 or others[majority - 1] >= node.now() - limit
            require(fresh, "CheckQuorum", f"{node.node_id} leads epoch {state.epoch}, and nobody fetches")

    def _check_state(self, node: SimulatedNode, state: State) -> None:
        leader = state.leader_id
        if leader is not None:
            known = self.leaders.setdefault(state.epoch, leader)
            text = f"in epoch {state.epoch} {known} led, and {node.node_id} believes in {leader}"
            require(known == leader, "ElectionSafety", text)
        if node.node_id not in self.world.voters:
            legal = isinstance(state, Unattached | Follower)
            require(legal, "ValidRolesAndStates", f"the observer {node.node_id} is {state}")
        if isinstance(state, Leader) and state.epoch_start == node.disk.log.end:
            self._check_leader_completeness(node, state)

    def _check_leader_completeness(self, node: SimulatedNode, state: Leader) -> None:
        """What was committed in an epoch is in the log of each leader of a later one."""
        needed = max((end for epoch, end in self.commit_epochs if epoch < state.epoch), default=0)
        log = node.disk.log
        text = f"{node.node_id} leads epoch {state.epoch} with a log to {log.end}, but {needed} is committed"
        require(log.end >= needed, "LeaderCompleteness", text)
        if needed > log.start:
            same = log.at(needed - 1) == self.committed[needed - 1]
            require(same, "LeaderCompleteness", f"{node.node_id} leads epoch {state.epoch} with another {needed - 1}")

    def _check_commit(self, node: SimulatedNode, state: Leader, end: int) -> None:
        """A majority of the voters holds what a leader calls committed, durably."""
        log = node.disk.log
        for offset in range(len(self.committed), end):
            entry = log.at(offset)
            self.committed.append(entry)
            self.states.append(replay(self.states[-1], (entry,)))
            self._acknowledge(offset, entry)
        if not self.commit_epochs or self.commit_epochs[-1][1] < end:
            self.commit_epochs.append((state.epoch, end))
        holders = [voter for voter in self.world.voters if self.holds(voter, end)]
        text = f"{node.node_id} committed {end - 1} in epoch {state.epoch}, durable at {holders} only"
        require(len(holders) >= len(self.world.voters) // 2 + 1, "MajorityReachedHighWatermark", text)

    def holds(self, voter: int, end: int) -> bool:
        """Whether a voter would still have everything committed below ``end`` if its power went now."""
        disk = self.world.nodes[voter].disk
        if disk.rotten:
            return False
        durable = disk.durable
        if end <= durable.start or any(snapshot.end_offset >= end for snapshot in disk.snapshots):
            return True
        return durable.end >= end and durable.at(end - 1) == self.committed[end - 1]

    def _acknowledge(self, offset: int, entry: Entry) -> None:
        place = self.proposed.get(entry.value)
        if place is not None:
            require(place == (offset, entry.epoch), "AckedValueNotLost", f"{entry} was proposed at {place}")
            self.acknowledged += 1

    # What nodes do.

    def on_proposal(self, node: SimulatedNode, offset: int, values: Sequence[int]) -> None:
        for place, value in enumerate(values, offset):
            self.proposed[value] = (place, node.core.epoch)

    def on_append(self, node: SimulatedNode, base: int, entries: tuple[Entry, ...]) -> None:
        """One epoch has one record at an offset, wherever it is (Raft's Log Matching)."""
        for offset, entry in enumerate(entries, base):
            known = self.written.setdefault((offset, entry.epoch), entry.value)
            text = f"{node.node_id} appends {entry} at {offset}, where epoch {entry.epoch} had {known}"
            require(known == entry.value, "LogMatching", text)

    def before_truncation(self, node: SimulatedNode, end: int) -> None:
        self.world.cover("diverging log cut")
        lost = end < len(self.committed) and node.disk.log.at(end) == self.committed[end]
        require(not lost, "TruncateBelowHW", f"{node.node_id} cuts at {end}, which it has and is committed")

    def on_applied(self, node: SimulatedNode, entries: tuple[Entry, ...]) -> None:
        """Committed data is the same everywhere, and never changes."""
        end = node.machine.applied
        require(end <= len(self.committed), "NoLogDivergence", f"{node.node_id} applied {end - 1}, never committed")
        same = node.machine.state == self.states[end]
        require(same, "NoLogDivergence", f"{node.node_id} differs from what was committed below {end}")

    def on_election_written(self, node: SimulatedNode) -> None:
        epoch, voted_for = node.disk.election.epoch, node.disk.election.voted_for
        if voted_for is not None:
            self._check_vote(node, epoch, voted_for)
        known = self.durable_epochs.get(node.node_id, 0)
        require(epoch >= known, "MonotonicEpoch", f"{node.node_id} stored epoch {epoch} after {known}")
        self.durable_epochs[node.node_id] = epoch
        require(epoch <= node.core.epoch, "MonotonicEpoch", f"{node.node_id} stored an epoch that it is not in")

    def on_spoken(self, node: SimulatedNode, epoch: int) -> None:
        """A node never falls back behind an epoch that it told others of."""
        self.spoken_epochs[node.node_id] = max(epoch, self.spoken_epochs.get(node.node_id, 0))

    def on_fetch(self, node: SimulatedNode, request: FetchRequest) -> None:
        disk = node.disk
        by_snapshot = max((snapshot.end_offset for snapshot in disk.snapshots), default=0)
        durable = request.fetch_offset <= max(disk.durable.end, by_snapshot)
        require(durable, "FetchedIsDurable", f"{node.node_id} claims {request.fetch_offset}")

    def on_reply(self, node: SimulatedNode, request: Request, response: Response) -> None:
        self.on_spoken(node, response.epoch)
        if not isinstance(request, VoteRequest) or not isinstance(response, VoteResponse):
            return
        if response.granted and not request.pre_vote:
            self._check_vote(node, request.epoch, request.candidate_id)
            stored = node.disk.election
            durable = (stored.epoch, stored.voted_for) == (request.epoch, request.candidate_id)
            require(durable, "VoteIsDurable", f"{node.node_id} granted {request} with {stored} on disk")

    def _check_vote(self, node: SimulatedNode, epoch: int, candidate: int) -> None:
        known = self.votes.setdefault((node.node_id, epoch), candidate)
        text = f"{node.node_id} voted for {known} and for {candidate} in epoch {epoch}"
        require(known == candidate, "OneVotePerEpoch", text)

    def _check_snapshot_at_log_start(self, node: SimulatedNode) -> None:
        log = node.disk.log
        found = log.start == 0 or (log.start, log.start_epoch) in node.disk.snapshots
        require(found, "SnapshotAtLogStart", f"{node.node_id} begins at {log.start}, without a snapshot there")

    def may_lose(self, node: SimulatedNode) -> bool:
        """Whether the quorum can do without what this node has: a majority of voters has all of it, and its epoch."""
        if node.node_id not in self.world.voters:
            return True
        others = [self.world.nodes[voter] for voter in self.world.voters if voter != node.node_id]
        epoch = max(node.disk.election.epoch, node.core.epoch)
        end = len(self.committed)
        safe = [
            other
            for other in others
            if self.holds(other.node_id, end) and other.up and other.disk.election.epoch >= epoch
        ]
        led = self.leaders.get(epoch) not in (None, node.node_id)
        reached = max(node.disk.log.end, node.disk.durable.end)
        return led and end > 0 and reached <= end and len(safe) >= len(self.world.voters) // 2 + 1
