"""What a member of the quorum is in every state, and the few ways in which its state changes.

The modules of the roles (voting, leader, follower) work on a Member: they change its state through ``become`` and
collect what its driver must do. ``core`` decides whose turn it is.
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
#: So far ahead of this member's epoch may another be: half a year of an election every second.
LONGEST_LEAP = 2**24

_AnyResponse = TypeVar("_AnyResponse", bound=Response)


class Member:
    """One member: its log, its state, what it knows to be committed, and the effects of the step that it is in.

    ``unused_snapshot`` came from a leader and is stored, but was found sound when none was followed.
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
        """Whom to follow; None if that is not known, or the one that led has resigned."""
        return None if isinstance(self.state, Resigned) else self.state.leader_id

    @property
    def may_stand(self) -> bool:
        return self.is_voter and not self.shutting_down

    def take_effects(self) -> Effects:
        """End a step: what the driver must do about it."""
        effects, self.effects = self.effects, Effects()
        state, written = self.state, self.written
        if (state.epoch, state.leader_id, state.voted_for) != (written.epoch, written.leader_id, written.voted_for):
            self.written = effects.election = ElectionState(state.epoch, state.leader_id, state.voted_for)
        effects.deadline = self._deadline()
        return effects

    def _deadline(self) -> float:
        state = self.state
        if isinstance(state, Follower) and not self.log.all_durable:
            return state.fetch_deadline  # it asks on once its log is durable
        if isinstance(state, Unattached) and not self.log.all_durable:
            return state.election_deadline
        return state.deadline

    # Changing state.

    def become(self, state: State, why: str) -> None:
        """Enter another state. What waits at a leader is told that it leads no more."""
        before = self.state
        assert (type(before), type(state)) in TRANSITIONS, f"{before} may not become {state}"
        assert state.epoch >= before.epoch, f"{before} may not go back to {state}"
        self.state = state
        self.effects.transitions.append(Transition(type(before).__name__, type(state).__name__, state.epoch, why))
        if isinstance(before, Leader):
            for parked in before.parked.values():
                self.refuse(parked.request_id, parked.request, parked.request.replica_id, Reason.NOT_LEADER)

    def detach(self, now: float, epoch: int, why: str) -> None:
        """Enter ``epoch``, in which no leader is known. An election timeout that runs is not prolonged by it.

        None runs while a snapshot is looked through for too long.
        """
        self.become(Unattached(epoch, self._election_deadline(now), ask_at=self.next_question_at(now)), why)

    def _election_deadline(self, now: float) -> float:
        if not self.may_stand:
            return math.inf
        match self.state:
            case Follower(fetch_deadline=deadline) | Unattached(election_deadline=deadline) if deadline < math.inf:
                return deadline
            case Prospective(election_deadline=deadline) | Candidate(election_deadline=deadline):
                return deadline
            case Resigned(election_deadline=deadline):
                return deadline
        return now + self.timing.election_timeout(self.jitter())

    def next_question_at(self, now: float) -> float:
        """When one that knows no leader asks a voter for it (again)."""
        return now + self.timing.fetch_max_wait_s if self.others else math.inf

    def follow(self, now: float, epoch: int, leader_id: int, why: str) -> None:
        """Follow ``leader_id`` in ``epoch`` and fetch from it at once."""
        voted_for = self.state.voted_for if epoch == self.epoch else None
        self.become(Follower(epoch, leader_id, now + self.timing.fetch_timeout_s, voted_for, ask_at=now), why)
        snapshot, self.unused_snapshot = self.unused_snapshot, None
        if snapshot is not None and snapshot.end_offset > self.log.end_offset:
            self.install(snapshot)

    def learn(self, now: float, epoch: int, leader_id: int | None, peer: int) -> None:
        """Move on to what a peer's response says of the epoch and its leader, if it is news.

        An observer takes no epoch without a leader. It might be that of a candidate which is gone, and nobody would
        ever lead it: the others, in an older one, would refuse the observer and learn nothing from it.
        """
        state = self.state
        if epoch < state.epoch or (epoch == state.epoch and state.leader_id is not None) or self.is_implausible(epoch):
            return
        if leader_id is not None and leader_id in self.others:
            self.follow(now, epoch, leader_id, f"{peer} knows the leader, {leader_id}")
        elif epoch > state.epoch and self.is_voter:
            self.detach(now, epoch, f"{peer} knows a newer epoch")

    def is_implausible(self, epoch: int) -> bool:
        """Whether a peer names an epoch that cannot be. To believe it would use up the epochs, and they have an end.

        Who knows no epoch yet believes any.
        """
        return 0 < self.epoch < epoch - LONGEST_LEAP

    def next_epoch(self) -> int | None:
        """The epoch to stand in; None, and the end of this member, if there is none."""
        if self.epoch < MAX_EPOCH:
            return self.epoch + 1
        self.effects.fatal = f"epoch {self.epoch} is the last that there can be"
        return None

    def install(self, snapshot: SnapshotId) -> None:
        """Let the log begin behind a stored snapshot of a leader: what is in it is committed, whoever leads by now."""
        self.log.install(snapshot)
        self.effects.install = snapshot
        self.commit(snapshot.end_offset)

    def commit(self, offset: int) -> None:
        """Everything below ``offset`` is committed."""
        if offset > self.high_watermark:
            self.high_watermark = self.effects.high_watermark = offset

    # Speaking.

    def send(self, to: int, request: Request) -> int:
        """Send a request; return its number."""
        self._sent += 1
        self.effects.sends.append(Send(self._sent, to, request))
        return self._sent

    def reply(self, request_id: int, response: Response) -> None:
        self.effects.replies.append(Reply(request_id, response))

    def respond(self, kind: type[_AnyResponse], error: ErrorCode, **fields: Any) -> _AnyResponse:
        """A response with what every response says: the error, the epoch and its leader."""
        return kind(error=error, epoch=self.epoch, leader_id=self.leader_id, **fields)

    def judge(self, request: Request, peer: int, granted: bool, reason: Reason) -> None:
        self.effects.verdicts.append(Verdict(request, peer, granted, reason))

    def refuse(self, request_id: int, request: Request, peer: int, reason: Reason) -> None:
        """Answer a request with the error that fits ``reason``."""
        self.judge(request, peer, False, reason)
        error = ERRORS.get(reason, ErrorCode.NONE)
        if reason is Reason.NOT_A_VOTER and isinstance(request, VoteRequest):
            error = ErrorCode.NONE  # a vote that is refused is counted; for what is an error Apache asks again at once
        self.reply(request_id, self.respond(RESPONSES[type(request)], error))


RESPONSES: dict[type[Request], type[Response]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
}

#: What a refusal is called on the wire. A refused vote is no error, so what is missing here is NONE.
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
