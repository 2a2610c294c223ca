"""Cores with invariants that are checked after every step, each under its name in Kafka.

The simulation has a monitor of its own. This one was written independently from the same list, so that a mistake in one
of them does not hide a mistake in the cores.
"""

from __future__ import annotations

import math

from kraft.raft.events import Effects, ResponseReceived, Send
from kraft.raft.messages import FetchRequest, SnapshotId, VoteRequest, VoteResponse
from kraft.raft.state import TRANSITIONS, Follower, Leader, State, Unattached
from kraft.simulation.disk import Disk, Entry
from kraft.simulation.machine import EMPTY_STATE, replay
from kraft.testing.cores import Cores
from kraft.testing.driven import DrivenCore, InFlight, state_at

_LEGAL = {(before.__name__, after.__name__) for before, after in TRANSITIONS}


class InvariantError(AssertionError):
    """An invariant does not hold; the message begins with its name."""


def require(condition: bool, invariant: str, text: str) -> None:
    if not condition:
        raise InvariantError(f"{invariant}: {text}")


class WatchedCores(Cores):
    """``committed`` is every record that was ever committed, ``states`` a digest of each of its prefixes."""

    def __init__(self, size: int, observers: int) -> None:
        self.committed: list[Entry] = []
        self.commit_epochs: list[int] = []
        self.states = [EMPTY_STATE]
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], int] = {}
        self.spoken: dict[int, int] = {}
        self.written: dict[tuple[int, int], int] = {}
        self.marks: dict[tuple[int, int], int] = {}
        super().__init__(range(1, size + 1), range(size + 1, size + 1 + observers))

    # While a core steps.

    def stepped(self, node: DrivenCore, effects: Effects) -> None:
        require(effects.fatal is None, "NoIllegalState", str(effects.fatal))
        for transition in effects.transitions:
            legal = (transition.before, transition.after) in _LEGAL
            require(legal, "LegalTransitions", f"{node.node_id}: {transition}")
            if transition.after == "Leader":
                self._check_leader_completeness(node)
        self._check_state(node, node.core.state)
        if effects.truncate is not None:
            self._check_truncation(node, effects.truncate)
        if effects.install is not None:
            require(isinstance(node.core.state, Follower), "LeaderNeverLoadSnapshot", f"{node.node_id}")
        mark = self.marks.get((node.node_id, node.life), 0)
        require(node.core.high_watermark >= mark, "MonotonicHighWatermark", f"{node.node_id} went back from {mark}")
        self.marks[node.node_id, node.life] = node.core.high_watermark
        if isinstance(node.core.state, Leader):
            self._commit(node, node.core.state)

    def _check_state(self, node: DrivenCore, state: State) -> None:
        leader = state.leader_id
        if leader is not None:
            known = self.leaders.setdefault(state.epoch, leader)
            require(known == leader, "ElectionSafety", f"epoch {state.epoch} has the leaders {known} and {leader}")
        if node.node_id not in self.voters:
            require(isinstance(state, Unattached | Follower), "ValidRolesAndStates", f"the observer is {state}")
        elif isinstance(state, Unattached):
            require(state.election_deadline < math.inf, "NobodyWaitsForEver", f"{node.node_id} is {state}")

    def _check_truncation(self, node: DrivenCore, end: int) -> None:
        log = node.disk.log
        lost = end < min(len(self.committed), log.end) and (end < log.start or log.at(end) == self.committed[end])
        require(not lost, "TruncateBelowHW", f"{node.node_id} cuts at {end}, and {len(self.committed)} are committed")

    def _check_leader_completeness(self, node: DrivenCore) -> None:
        epoch, log = node.core.epoch, node.disk.log
        needed = sum(commit_epoch < epoch for commit_epoch in self.commit_epochs)
        text = f"{node.node_id} leads epoch {epoch} without what is committed below {needed}"
        require(log.end >= needed and state_at(node.disk, needed) == self.states[needed], "LeaderCompleteness", text)

    def _commit(self, node: DrivenCore, state: Leader) -> None:
        """A record that a leader commits stays committed, for every node."""
        for offset in range(len(self.committed), node.core.high_watermark):
            entry = node.disk.log.at(offset)
            self.committed.append(entry)
            self.commit_epochs.append(state.epoch)
            self.states.append(replay(self.states[-1], (entry,)))

    # When a core sends a message.

    def post(self, in_flight: InFlight) -> bool:
        node, message = self.nodes[in_flight.source], in_flight.message
        epoch = message.request.epoch if isinstance(message, Send) else message.response.epoch
        spoken = self.spoken.get(in_flight.source, 0)
        require(epoch >= spoken, "MonotonicEpoch", f"{in_flight.source} speaks of epoch {epoch} after {spoken}")
        self.spoken[in_flight.source] = epoch
        match message:
            case Send(request=VoteRequest(pre_vote=False, candidate_id=candidate)):
                self._check_vote(node, epoch, candidate)
            case Send(request=FetchRequest(fetch_offset=offset)):
                durable = max([node.disk.durable.end, *(snapshot.end_offset for snapshot in node.disk.snapshots)])
                require(
                    offset <= durable, "FetchedIsDurable", f"{in_flight.source} fetches {offset}, and has {durable}"
                )
            case ResponseReceived(request=VoteRequest(pre_vote=False) as request, response=VoteResponse(granted=True)):
                self._check_vote(node, request.epoch, request.candidate_id)
        return super().post(in_flight)

    def _check_vote(self, node: DrivenCore, epoch: int, candidate: int) -> None:
        known = self.votes.setdefault((node.node_id, epoch), candidate)
        text = f"{node.node_id} votes for {known} and {candidate} in epoch {epoch}"
        require(known == candidate, "OneVotePerEpoch", text)
        stored = node.disk.election
        told = (stored.epoch, stored.voted_for) == (epoch, candidate)
        require(told, "VoteIsDurable", f"{node.node_id} votes for {candidate} in epoch {epoch}, on disk is {stored}")

    # At any time.

    def check_log_matching(self) -> None:
        """All logs have the same record at one offset in one epoch."""
        for node in self.nodes.values():
            for offset, entry in enumerate(node.disk.log.entries, node.disk.log.start):
                known = self.written.setdefault((offset, entry.epoch), entry.value)
                text = f"at {offset} epoch {entry.epoch} has {known} and, on {node.node_id}, {entry.value}"
                require(known == entry.value, "LogMatching", text)

    def check_committed_data(self) -> None:
        """Below its high watermark each log, and each snapshot, equals the committed records."""
        for node in self.nodes.values():
            mark = node.core.high_watermark if node.up else 0
            text = f"{node.node_id} differs from what was committed below {mark}"
            within = mark <= min(len(self.committed), node.disk.log.end)
            require(within, "NoLogDivergence", f"{node.node_id} calls more than is committed: {mark}")
            same = mark < node.disk.log.start or state_at(node.disk, mark) == self.states[mark]
            require(same, "NoLogDivergence", text)
            for snapshot, state in node.disk.snapshots.items():
                same = state == self.states[snapshot.end_offset]
                require(same, "ConsistentCommittedData", f"{node.node_id} has a wrong snapshot {snapshot}")

    def check_durability(self) -> None:
        """Committed records are on the disks of a majority of voters, even after power failures."""
        end = len(self.committed)
        holders = [voter for voter in self.voters if self._holds(self.nodes[voter].disk, end)]
        enough = len(holders) >= len(self.voters) // 2 + 1
        require(enough, "AckedValueNotLost", f"what is committed below {end} is durable at {holders} only")

    def _holds(self, disk: Disk, end: int) -> bool:
        durable = disk.durable
        if end <= durable.start or any(snapshot.end_offset >= end for snapshot in disk.snapshots):
            return True
        return durable.end >= end and durable.at(end - 1) == self.committed[end - 1]

    def check_snapshot_at_log_start(self) -> None:
        for node in self.nodes.values():
            log = node.disk.log
            found = log.start == 0 or SnapshotId(log.start, log.start_epoch) in node.disk.snapshots
            require(found, "SnapshotAtLogStart", f"the log of {node.node_id} begins at {log.start} without a snapshot")
