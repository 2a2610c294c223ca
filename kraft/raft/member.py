"""The state that every role of a member shares, and the functions that change it.

The modules of the roles (voting, leader, follower) work on a Member. They change its state through ``become`` and
collect the effects for its driver. ``core`` chooses the role for each event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from kraft.raft.events import Effects, Reason, Reply, Send, Transition, Verdict
from kraft.raft.log_view import LogView
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    SnapshotId,
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
from kraft.wire.errors import ErrorCode

#: Epochs are int32 on the wire and in ``quorum-state``.
MAX_EPOCH = 2**31 - 1
#: The largest believable lead of a peer's epoch: half a year of an election every second.
LONGEST_LEAP = 2**24

_AnyResponse = TypeVar("_AnyResponse", bound=Response)


class Member:
    """One member: its log, its state, its high watermark, and the effects of the present step.

    ``unused_snapshot`` is a stored and checked snapshot of a leader. Its check ended when the member followed no
    leader.
    """

    def __init__(
        self, node_id: int, voters: tuple[int, ...], log: LogView, timing: Timing, jitter: Callable[[], float]
    ) -> None:
        self.node_id = node_id
        self.voters = voters
        self.others = tuple(voter for voter in voters if voter != node_id)
        self.is_voter = node_id in voters
        self.majority = len(voters) // 2 + 1
        self.log = log
        self.timing = timing
        self.jitter = jitter
        self.high_watermark = log.snapshot.end_offset if log.snapshot else 0
        self.shutting_down = False
        self.unused_snapshot: SnapshotId | None = None
        self.state: State = Unattached(0, math.inf)
        self.written = ElectionState()
        self.effects = Effects()
        self._sent = 0

    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader to follow; None if it is unknown, or if this member led and resigned."""
        return None if isinstance(self.state, Resigned) else self.state.leader_id

    @property
    def elected_id(self) -> int | None:
        """The leader that the epoch elected, if it is known: it may have resigned, or be given up."""
        state = self.state
        former = state.former_leader_id if isinstance(state, Unattached | Prospective) else None
        return state.leader_id if former is None else former

    @property
    def may_become_candidate(self) -> bool:
        return self.is_voter and not self.shutting_down

    def take_effects(self) -> Effects:
        """End a step and return its effects."""
        effects, self.effects = self.effects, Effects()
        state, elected, written = self.state, self.elected_id, self.written
        if (state.epoch, elected, state.voted_for) != (written.epoch, written.leader_id, written.voted_for):
            self.written = effects.election = ElectionState(state.epoch, elected, state.voted_for)
        effects.deadline = self._deadline()
        return effects

    def _deadline(self) -> float:
        state = self.state
        if isinstance(state, Follower) and not self.log.all_durable:
            return state.fetch_deadline  # it fetches again once its log is durable
        if isinstance(state, Unattached) and not self.log.all_durable:
            return state.election_deadline
        return state.deadline

    # Changing state.

    def become(self, state: State, why: str) -> None:
        """Enter another state. A leader that leaves its state refuses its parked Fetches."""
        before = self.state
        assert (type(before), type(state)) in TRANSITIONS, f"{before} may not become {state}"
        assert state.epoch >= before.epoch, f"{before} may not go back to {state}"
        self.state = state
        self.effects.transitions.append(Transition(type(before).__name__, type(state).__name__, state.epoch, why))
        if isinstance(before, Leader):
            for parked in before.parked.values():
                self.refuse(parked.request_id, parked.request, parked.request.replica_id, Reason.NOT_LEADER)

    def detach(self, now: float, epoch: int, why: str) -> None:
        """Enter ``epoch`` without a known leader. A running election timeout keeps its deadline.

        While the check of a snapshot takes too long, no timeout runs.
        """
        self.become(Unattached(epoch, self._election_deadline(now), request_at=self.next_request_at(now)), why)

    def _election_deadline(self, now: float) -> float:
        if not self.may_become_candidate:
            return math.inf
        match self.state:
            case Follower(fetch_deadline=deadline) | Unattached(election_deadline=deadline) if deadline < math.inf:
                return deadline
            case Prospective(election_deadline=deadline) | Candidate(election_deadline=deadline):
                return deadline
            case Resigned(election_deadline=deadline):
                return deadline
        return now + self.timing.election_timeout(self.jitter())

    def next_request_at(self, now: float) -> float:
        """Return when a member without a leader sends its next Fetch to a voter."""
        return now + self.timing.fetch_max_wait_s if self.others else math.inf

    def follow(self, now: float, epoch: int, leader_id: int, why: str) -> None:
        """Follow ``leader_id`` in ``epoch`` and fetch from it at once."""
        voted_for = self.state.voted_for if epoch == self.epoch else None
        self.become(Follower(epoch, leader_id, now + self.timing.fetch_timeout_s, voted_for, request_at=now), why)
        snapshot, self.unused_snapshot = self.unused_snapshot, None
        if snapshot is not None and snapshot.end_offset > self.log.end_offset:
            self.install(snapshot)

    def learn(self, now: float, response: Response, peer: int) -> None:
        """Adopt the epoch and the leader of a peer's response, if they are newer.

        A former leader is followed again only if it answers a Fetch without an error. Other voters may not know that it
        resigned, and a resigned leader of Apache Kafka still names itself.

        An observer adopts no epoch without a leader. The epoch might be a candidate's that is gone, and never get a
        leader. The voters, in an older epoch, would then refuse the observer, and their responses would not help it.
        """
        epoch, leader_id, state = response.epoch, response.leader_id, self.state
        if epoch < state.epoch or self.is_implausible(epoch):
            return
        if epoch == state.epoch and self.elected_id is not None:
            fetched = isinstance(response, FetchResponse) and response.error is ErrorCode.NONE
            if state.leader_id is not None or not fetched or not leader_id == peer == self.elected_id:
                return
        if leader_id is not None and leader_id in self.others:
            self.follow(now, epoch, leader_id, f"{peer} named {leader_id} as the leader")
        elif epoch > state.epoch and self.is_voter:
            self.detach(now, epoch, f"{peer} responded with a newer epoch")

    def is_implausible(self, epoch: int) -> bool:
        """Whether a peer's epoch is too far ahead. To adopt it would use up the int32 epochs.

        A member in epoch 0 adopts any epoch.
        """
        return 0 < self.epoch < epoch - LONGEST_LEAP

    def next_epoch(self) -> int | None:
        """Return the epoch for a candidacy. Return None, and set ``fatal``, if there is no further epoch."""
        if self.epoch < MAX_EPOCH:
            return self.epoch + 1
        self.effects.fatal = f"epoch {self.epoch} is the largest int32, so no election is possible"
        return None

    def install(self, snapshot: SnapshotId) -> None:
        """Begin the log behind a leader's stored snapshot. Its records are committed, whichever voter leads by now."""
        self.log.install(snapshot)
        self.effects.install = snapshot
        self.commit(snapshot.end_offset)

    def commit(self, offset: int) -> None:
        """Raise the high watermark to ``offset``."""
        if offset > self.high_watermark:
            self.high_watermark = self.effects.high_watermark = offset

    # Messages.

    def send(self, to: int, request: Request) -> int:
        """Send a request; return its number."""
        self._sent += 1
        self.effects.sends.append(Send(self._sent, to, request))
        return self._sent

    def reply(self, request_id: int, response: Response) -> None:
        self.effects.replies.append(Reply(request_id, response))

    def respond(self, kind: type[_AnyResponse], error: ErrorCode, **fields: Any) -> _AnyResponse:
        """Make a response with the fields that all kinds share: the error, the epoch and its leader."""
        return kind(error=error, epoch=self.epoch, leader_id=self.leader_id, **fields)

    def judge(self, request: Request, peer: int, granted: bool, reason: Reason) -> None:
        self.effects.verdicts.append(Verdict(request, peer, granted, reason))

    def refuse(self, request_id: int, request: Request, peer: int, reason: Reason) -> None:
        """Answer a request with the error that fits ``reason``."""
        self.judge(request, peer, False, reason)
        error = ERRORS.get(reason, ErrorCode.NONE)
        if reason is Reason.NOT_A_VOTER and isinstance(request, VoteRequest):
            # A candidate counts a refused vote. After an error Apache Kafka would send the request again at once.
            error = ErrorCode.NONE
        self.reply(request_id, self.respond(RESPONSES[type(request)], error))


RESPONSES: dict[type[Request], type[Response]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
}

#: The error of a response for each reason. A refused vote is no error, so reasons without an entry give NONE.
ERRORS = {
    Reason.STALE_EPOCH: ErrorCode.FENCED_LEADER_EPOCH,
    Reason.IMPLAUSIBLE_EPOCH: ErrorCode.UNKNOWN_LEADER_EPOCH,
    Reason.UNKNOWN_EPOCH: ErrorCode.UNKNOWN_LEADER_EPOCH,
    Reason.NOT_LEADER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    Reason.NOT_A_VOTER: ErrorCode.INCONSISTENT_VOTER_SET,
    Reason.SHUTTING_DOWN: ErrorCode.BROKER_NOT_AVAILABLE,
    Reason.IMPOSSIBLE_LOG: ErrorCode.INVALID_REQUEST,
    Reason.IMPOSSIBLE_OFFSET: ErrorCode.INVALID_REQUEST,
    Reason.OTHER_LEADER: ErrorCode.INVALID_REQUEST,
    Reason.FROM_MYSELF: ErrorCode.INVALID_REQUEST,
    Reason.FROM_NOBODY: ErrorCode.INVALID_REQUEST,
    Reason.TOO_MANY_OBSERVERS: ErrorCode.BROKER_NOT_AVAILABLE,
    Reason.NO_SUCH_SNAPSHOT: ErrorCode.SNAPSHOT_NOT_FOUND,
}
