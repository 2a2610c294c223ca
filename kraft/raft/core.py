"""The core of a member of the quorum: ``step(now, event) -> Effects``. Synchronous and deterministic.

Time and randomness are arguments. The core knows no files, no addresses of peers, and no meaning of records. This
module passes each event to the module of its role: ``voting``, ``leader`` or ``follower``. The rules are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import attrs

from kraft.raft import follower, leader, voting
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    Event,
    LogAppended,
    LogFlushed,
    LogTrimmed,
    RequestFailed,
    RequestReceived,
    Resign,
    ResponseReceived,
    ShutDown,
    SnapshotCreated,
    SnapshotRejected,
    SnapshotStored,
    Timeout,
)
from kraft.raft.log_view import LogView
from kraft.raft.member import Member
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from kraft.raft.state import Candidate, ElectionState, Follower, Leader, Prospective, Resigned, State, Unattached
from kraft.raft.timing import Timing


class RaftCore:
    """One member of the quorum: a voter if ``node_id`` is one of ``voters``, else an observer.

    Only the driver calls ``step``. ``election`` is the election state on disk at the start. ``log`` is the shape of the
    log on disk at the start, all of it durable. ``jitter`` returns a random number from [0, 1) at each call.
    """

    def __init__(
        self,
        node_id: int,
        voters: tuple[int, ...],
        election: ElectionState,
        log: LogView,
        now: float,
        *,
        jitter: Callable[[], float],
        timing: Timing | None = None,
    ) -> None:
        self._member = member = Member(node_id, voters, log, timing or Timing(), jitter)
        timeout_s = member.timing.election_timeout(jitter()) if member.others else 0.0
        self._first_state = partial(_first_state, member, election, timeout_s)
        member.state = self._first_state(now)
        member.written = election if election.epoch == member.epoch else ElectionState()

    @property
    def node_id(self) -> int:
        return self._member.node_id

    @property
    def voters(self) -> tuple[int, ...]:
        return self._member.voters

    @property
    def log(self) -> LogView:
        return self._member.log

    @property
    def state(self) -> State:
        return self._member.state

    @property
    def high_watermark(self) -> int:
        """Everything below this offset is committed."""
        return self._member.high_watermark

    @property
    def epoch(self) -> int:
        return self._member.epoch

    @property
    def leader_id(self) -> int | None:
        return self._member.leader_id

    def begin(self, now: float) -> None:
        """Restart the timers before the first step, if the node has loaded its snapshot since it made this core."""
        self._member.state = self._first_state(now)

    def step(self, now: float, event: Event) -> Effects:
        """Process one event. Requests, responses and timeouts that do not fit the state have no effect.

        LogAppended, SnapshotCreated and LogTrimmed report what the driver did. It may append only as the leader, and
        create snapshots and trim only what is committed. Otherwise AssertionError is raised.
        """
        member = self._member
        match event:
            case RequestReceived():
                _answer(member, now, event.request_id, event.request)
            case ResponseReceived():
                _take_response(member, now, event)
            case LogAppended():
                leader.take_append(member, event.end_offset, event.epoch)
            case LogFlushed():
                grew = member.log.flushed(event.end_offset, event.truncations)
                if grew and isinstance(member.state, Leader):
                    leader.take_flush(member, member.state)
            case Timeout():
                _take_timeout(member, now)
            case ElectionStateWritten(election):
                voting.count_own_vote(member, now, election.epoch, election.voted_for)
            case RequestFailed(request=VoteRequest()):
                voting.take_vote_failure(member, now, event)
            case RequestFailed(request=EndQuorumEpochRequest()):
                leader.take_end_failure(member, event)
            case RequestFailed(request=FetchRequest() | FetchSnapshotRequest()):
                follower.take_failure(member, now, event)
            case SnapshotStored():
                follower.take_stored_snapshot(member, now, event)
            case SnapshotRejected():
                follower.take_rejected_snapshot(member, now, event)
            case SnapshotCreated(snapshot):
                assert snapshot.end_offset <= member.high_watermark, "a snapshot covers only committed records"
                member.log.snapshot = max(snapshot, member.log.snapshot or snapshot)
            case LogTrimmed(snapshot):
                assert snapshot.end_offset <= member.high_watermark, "the driver trims only committed records"
                member.log.advance_start(snapshot)
            case Resign(epoch):
                if isinstance(member.state, Leader) and member.epoch == epoch:
                    leader.resign(member, now, "the controller requested the resignation")
            case ShutDown():
                _shut_down(member, now)
        follower.request_if_due(member, now)
        return member.take_effects()


def _first_state(member: Member, election: ElectionState, timeout_s: float, now: float) -> State:
    """Return the state after a restart: a leader resigns, a follower follows, and a voter keeps its vote."""
    epoch = max(election.epoch, member.log.last_epoch)
    if epoch > election.epoch:
        election = ElectionState(epoch)
    if not member.others:
        return Unattached(epoch, election_deadline=now, voted_for=election.voted_for)  # no other voter
    if election.leader_id == member.node_id and member.is_voter:
        others = frozenset(member.others)
        return Resigned(epoch, member.node_id, now + timeout_s, member.others, others, end_at=now)
    if election.leader_id is not None and election.leader_id in member.others:
        fetch_deadline = now + member.timing.fetch_timeout_s
        return Follower(epoch, election.leader_id, fetch_deadline, election.voted_for, request_at=now)
    deadline = now + timeout_s if member.is_voter else math.inf
    return Unattached(epoch, deadline, election.voted_for, request_at=now)


def _answer(member: Member, now: float, request_id: int, request: object) -> None:
    match request:
        case FetchRequest():
            leader.answer_fetch(member, now, request_id, request)
        case VoteRequest():
            voting.answer_vote(member, now, request_id, request)
        case BeginQuorumEpochRequest():
            follower.answer_begin(member, now, request_id, request)
        case EndQuorumEpochRequest():
            follower.answer_end(member, now, request_id, request)
        case FetchSnapshotRequest():
            leader.answer_fetch_snapshot(member, now, request_id, request)


def _take_response(member: Member, now: float, event: ResponseReceived) -> None:
    match event.response:
        case FetchResponse():
            follower.take_fetch_response(member, now, event)
        case VoteResponse():
            voting.take_vote_response(member, now, event)
        case BeginQuorumEpochResponse():
            leader.take_begin_response(member, now, event)
        case EndQuorumEpochResponse():
            leader.take_end_response(member, now, event)
        case FetchSnapshotResponse():
            follower.take_snapshot_response(member, now, event)


def _take_timeout(member: Member, now: float) -> None:
    match member.state:
        case Leader() as state:
            leader.take_timeout(member, now, state)
        case Follower() as state:
            if follower.take_timeout(member, now, state):
                voting.seek_votes(member, now, follower.why_given_up(member, state))
        case Unattached(election_deadline=deadline) if now >= deadline:
            voting.seek_votes(member, now, "the election timeout expired without a leader")
        case Prospective(election_deadline=deadline) as state if now >= deadline:
            voting.end_pre_votes(member, now, state, "too few voters would grant their votes in time")
        case Candidate(election_deadline=deadline) as state if now >= deadline:
            if state.backing_off:
                voting.seek_votes(member, now, "the candidate lost the election", state.retries + 1)
            else:
                voting.back_off(member, now, state)
        case Prospective(request_at=request_at) | Candidate(request_at=request_at) as state if now >= request_at:
            voting.request_again(member, state)
        case Resigned() as state:
            if leader.leave_resigned(member, now, state):
                voting.seek_votes(member, now, "the election timeout expired without a leader")


def _shut_down(member: Member, now: float) -> None:
    member.shutting_down = True
    state = member.state
    if isinstance(state, Leader):
        leader.resign(member, now, "the node is shutting down")
    elif isinstance(state, Prospective | Candidate):
        member.state = attrs.evolve(state, election_deadline=math.inf, request_at=math.inf)
    elif not isinstance(state, Follower):
        member.state = attrs.evolve(state, election_deadline=math.inf)
