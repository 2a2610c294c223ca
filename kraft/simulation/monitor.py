"""Invariants on leaders, votes and epochs, each checked with the events that could break it.

The monitor reads all nodes and all disks, which no node can. ``history`` checks the records.
"""

from __future__ import annotations

import math

from kraft.raft.events import Effects, Event, RequestReceived, SnapshotStored, Timeout
from kraft.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraft.raft.state import (
    TRANSITIONS,
    Candidate,
    ElectionState,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from kraft.raft.timing import Timing
from kraft.simulation.history import History, Observed
from kraft.simulation.invariants import Violation

_LEGAL = frozenset((before.__name__, after.__name__) for before, after in TRANSITIONS)


class Monitor:
    """The elections of one world: what its nodes sent, stored and believed, and the checks of it."""

    def __init__(self, history: History, timing: Timing) -> None:
        self.history = history
        self._timing = timing
        self.leaders: dict[int, int] = {}
        self._stored_leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._durable_votes: set[tuple[int, int, int]] = set()
        self._high_watermarks: dict[int, int] = {}
        self._stored: dict[int, ElectionState] = {}
        self._sent_epochs: dict[int, int] = {}
        self._fetched_at: dict[tuple[int, int], dict[int, float]] = {}

    # Start, kill and new disks.

    def on_start(self, node: Observed) -> None:
        node_id, state, stored = node.node_id, node.core.state, node.disk.election
        self._high_watermarks[node_id] = node.core.high_watermark
        sent = self._sent_epochs.get(node_id, 0)
        if state.epoch < sent:
            raise Violation("MonotonicEpoch", f"node {node_id} starts in epoch {state.epoch}, but sent {sent}")
        forgot = stored.epoch == state.epoch and stored.voted_for != state.voted_for
        if forgot and not isinstance(state, Resigned):
            raise Violation("OneVotePerEpoch", f"node {node_id} stored {stored} and starts as {state}")
        self._check_state(node, state)

    def on_kill(self, node: Observed) -> None:
        self._high_watermarks.pop(node.node_id, None)

    def forget(self, node_id: int) -> None:
        """Forget the promises of a node whose disk was replaced: it is a new node under the same id."""
        self._stored.pop(node_id, None)
        self._sent_epochs.pop(node_id, None)
        self._votes = {key: candidate for key, candidate in self._votes.items() if key[0] != node_id}

    # Steps of the cores.

    def after_step(self, node: Observed, before: State, event: Event, effects: Effects) -> None:
        """Check one step of one node."""
        state, mark = node.core.state, node.core.high_watermark
        if state is not before:
            if state.epoch < before.epoch:
                raise Violation("MonotonicEpoch", f"{node.node_id}: {before} -> {state}")
            self._check_state(node, state)
            if _waits_for_a_check(state) and not _waits_for_a_check(before):
                self.history.cover("snapshot looked through past the fetch timeout")
        for transition in effects.transitions:
            if (transition.before, transition.after) not in _LEGAL:
                raise Violation("LegalTransitions", f"{node.node_id}: {transition}")
            self.history.cover(f"{transition.before} -> {transition.after}")
        for verdict in effects.verdicts:
            self.history.cover(f"{'granted' if verdict.granted else 'refused'}: {verdict.reason.name}")
        known = self._high_watermarks.get(node.node_id, 0)
        if mark < known:
            raise Violation("MonotonicHighWatermark", f"node {node.node_id} went back from {known} to {mark}")
        if isinstance(state, Leader):
            if mark > known:
                self.history.on_commit(node, state.epoch, mark)
            self._check_quorum(node, state, event)
        self._high_watermarks[node.node_id] = mark
        if effects.install is not None:
            if not isinstance(state, Follower):
                raise Violation("LeaderNeverLoadSnapshot", f"{node.node_id}: {state}")
            self.history.cover("snapshot installed")
            if not isinstance(event, SnapshotStored):
                self.history.cover("snapshot kept for a later leader")

    def _check_quorum(self, node: Observed, state: Leader, event: Event) -> None:
        """Check that a leader resigns if no majority fetches for 1.5 times the fetch timeout."""
        life = (node.node_id, state.epoch)
        fetched_at = self._fetched_at.get(life)
        if fetched_at is None:
            fetched_at = self._fetched_at[life] = dict.fromkeys(self.history.voters, node.now())
        if isinstance(event, RequestReceived):
            if isinstance(event.request, FetchRequest | FetchSnapshotRequest):
                fetched_at[event.request.replica_id] = node.now()
        elif isinstance(event, Timeout) and len(self.history.voters) > 1:
            others = sorted((fetched_at[voter] for voter in self.history.voters if voter != node.node_id), reverse=True)
            limit = 1.5 * self._timing.fetch_timeout_s + 0.001
            if others[self.history.majority - 2] < node.now() - limit:
                raise Violation("CheckQuorum", f"node {node.node_id} leads epoch {state.epoch} without fetches")

    def _check_state(self, node: Observed, state: State) -> None:
        leader = state.leader_id
        if leader is not None:
            known = self.leaders.setdefault(state.epoch, leader)
            if known != leader:
                text = f"node {node.node_id} has leader {leader} in epoch {state.epoch}, which {known} led"
                raise Violation("ElectionSafety", text)
        if not self._fits_role(node.node_id, state):
            raise Violation("StatesMatchRoles", f"{node.node_id} is {state}")
        if _never_stands(state) and node.node_id in self.history.voters and not node.stopping:
            raise Violation("NobodyWaitsForEver", f"{node.node_id} is {state}")
        if isinstance(state, Candidate):
            for voter in state.granted:
                if (voter, state.epoch, node.node_id) not in self._durable_votes:
                    text = f"node {node.node_id} counts a vote in epoch {state.epoch} that {voter} did not store"
                    raise Violation("ElectedByDurableVotes", text)
        elif isinstance(state, Leader) and state.epoch_start == node.disk.log.end:
            self.history.on_leader(node, state.epoch)

    def _fits_role(self, node_id: int, state: State) -> bool:
        voters = self.history.voters
        if isinstance(state, Follower):
            return state.leader_id != node_id and state.leader_id in voters
        if isinstance(state, Unattached):
            return True
        if node_id not in voters:
            return False
        if isinstance(state, Candidate):
            return state.voted_for == node_id and state.granted.issubset(voters)
        if isinstance(state, Prospective):
            return state.leader_id != node_id and state.granted.issubset(voters)
        return state.leader_id == node_id

    def after_effects(self, node: Observed) -> None:
        """Check a node after its driver performed all effects of a step."""
        if node.disk.election.epoch != node.core.epoch:
            text = f"node {node.node_id} is in epoch {node.core.epoch}, but stored {node.disk.election}"
            raise Violation("MonotonicEpoch", text)
        self.history.check_log(node)

    # Stores and messages.

    def on_election_stored(self, node: Observed) -> None:
        node_id, stored = node.node_id, node.disk.election
        if stored.voted_for is not None:
            self._check_vote(node_id, stored.epoch, stored.voted_for)
            self._durable_votes.add((node_id, stored.epoch, stored.voted_for))
        if stored.leader_id is not None:
            known = self._stored_leaders.setdefault(stored.epoch, stored.leader_id)
            if known != stored.leader_id:
                raise Violation("SingleLeader", f"node {node_id} stored {stored}, others leader {known}")
        before = self._stored.get(node_id, ElectionState())
        if not before.epoch <= stored.epoch <= node.core.epoch:
            text = f"node {node_id} stored epoch {stored.epoch} after {before.epoch}, and is in {node.core.epoch}"
            raise Violation("MonotonicEpoch", text)
        forgot = stored.epoch == before.epoch and before.leader_id is not None and stored.leader_id is None
        if forgot and node_id in self.history.voters:
            raise Violation("SingleLeader", f"voter {node_id} stored {stored} after {before}")
        self._stored[node_id] = stored

    def on_sent(self, node: Observed, epoch: int) -> None:
        """Record the newest epoch that a node sent. The node must never return to an earlier one."""
        if epoch > self._sent_epochs.get(node.node_id, 0):
            self._sent_epochs[node.node_id] = epoch

    def on_reply(self, node: Observed, request: Request, response: Response) -> None:
        self.on_sent(node, response.epoch)
        if isinstance(response, FetchResponse) and isinstance(request, FetchRequest):
            asker = self.history.nodes[request.replica_id].core
            if -1 < response.high_watermark < asker.high_watermark and asker.epoch == response.epoch:
                text = f"node {node.node_id} sent high watermark {response.high_watermark} to {asker.node_id}"
                raise Violation("MonotonicHighWatermark", f"{text}, which has {asker.high_watermark}")
        elif isinstance(request, VoteRequest) and _grants(request, response):
            self._check_vote(node.node_id, request.epoch, request.candidate_id)
            stored = node.disk.election
            if (stored.epoch, stored.voted_for) != (request.epoch, request.candidate_id):
                raise Violation("VoteIsDurable", f"{node.node_id} granted {request} with {stored} on disk")

    def _check_vote(self, voter: int, epoch: int, candidate: int) -> None:
        known = self._votes.setdefault((voter, epoch), candidate)
        if known != candidate:
            raise Violation("OneVotePerEpoch", f"{voter} voted for {known} and for {candidate} in epoch {epoch}")

    # Loss of a disk.

    def may_lose(self, node: Observed) -> bool:
        """Return whether the quorum survives the loss of a node's disk.

        Another node must be the elected leader of its newest epoch. A majority of other voters must know that epoch and
        hold all committed records.
        """
        history = self.history
        if node.node_id not in history.voters:
            return True
        epoch, end = max(node.disk.election.epoch, node.core.epoch), len(history.committed)
        others = [history.nodes[voter] for voter in history.holders(end) if voter != node.node_id]
        safe = [other for other in others if other.up and other.disk.election.epoch >= epoch]
        led = self.leaders.get(epoch) not in (None, node.node_id)
        reached = max(node.disk.log.end, node.disk.durable.end)
        return led and end > 0 and reached <= end and len(safe) >= history.majority


def _waits_for_a_check(state: State) -> bool:
    """Return whether a follower suspends its fetch timeout while it checks a fetched snapshot."""
    return isinstance(state, Follower) and math.isinf(state.fetch_deadline)


def _never_stands(state: State) -> bool:
    return isinstance(state, Unattached) and math.isinf(state.election_deadline)


def _grants(request: VoteRequest, response: Response) -> bool:
    return not request.pre_vote and isinstance(response, VoteResponse) and response.granted
