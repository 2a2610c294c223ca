"""Leading an epoch: followers fetch, and what they fetch from is what they hold durably (KIP-595).

An offset is committed once a majority of voters holds it durably *and* it lies beyond the start of the leader's own
epoch: what earlier leaders left behind is committed by what follows it (Raft, figure 8). A leader that no majority
fetches from resigns, since the others may long have another.
"""

from __future__ import annotations

import math

import attrs

from kraft.raft.events import LeaderChange, Reason, RequestFailed, ResponseReceived
from kraft.raft.member import Member
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    EpochEnd,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    SnapshotId,
)
from kraft.raft.state import Leader, ParkedFetch, Progress, Resigned
from kraft.wire.errors import ErrorCode

#: The most observers that a leader keeps account of.
MAX_OBSERVERS = 10_000


def lead(member: Member, now: float, granted: frozenset[int], why: str) -> None:
    """Open the epoch with a LeaderChange, and make oneself known."""
    others = bool(member.others)
    progress = {voter: Progress(fetched_at=now) for voter in member.others}
    progress[member.node_id] = Progress(member.log.durable_offset, now, now, acknowledged=True)
    state = Leader(
        member.epoch,
        member.log.end_offset,
        member.node_id,
        granted,
        progress,
        check_quorum_at=now + member.timing.check_quorum_s if others else math.inf,
        begin_at=now + member.timing.begin_epoch_interval_s if others else math.inf,
    )
    member.become(state, why)
    for voter in member.others:
        member.send(voter, BeginQuorumEpochRequest(state.epoch, member.node_id))
    member.outcome.append = LeaderChange(state.epoch, member.node_id, member.voters, tuple(sorted(granted)))


# The leader's own log.


def take_append(member: Member, end_offset: int, epoch: int) -> None:
    """The log grew: have it flushed, and wake those that wait for it."""
    state = member.state
    assert isinstance(state, Leader), "only a leader appends"
    assert epoch == state.epoch, "a leader appends in its own epoch"
    member.log.append(end_offset, epoch)
    member.outcome.flush = True
    for parked in list(state.parked.values()):
        _answer_parked(member, state, parked)


def take_flush(member: Member, state: Leader) -> None:
    """More of the leader's own log is durable."""
    own = state.progress[member.node_id]
    state.progress[member.node_id] = attrs.evolve(own, end_offset=member.log.durable_offset)
    advance_high_watermark(member, state)


def advance_high_watermark(member: Member, state: Leader) -> None:
    """Commit what a majority holds, once that includes something of this epoch."""
    ends = sorted((progress.end_offset for progress in state.progress.values()), reverse=True)
    held_by_majority = ends[member.majority - 1]
    if held_by_majority <= max(state.epoch_start, member.high_watermark):
        return
    member.commit(held_by_majority)
    for parked in list(state.parked.values()):
        if _lags(member, parked.request):
            _answer_parked(member, state, parked)


# Fetches.


def doubt_about_leader(member: Member, epoch: int) -> Reason | None:
    """Why a request that only the leader of ``epoch`` may be asked is refused, if it is."""
    if member.shutting_down:
        return Reason.SHUTTING_DOWN
    if epoch < member.epoch:
        return Reason.STALE_EPOCH
    if epoch > member.epoch:
        return Reason.UNKNOWN_EPOCH
    return None if isinstance(member.state, Leader) else Reason.NOT_LEADER


def answer_fetch(member: Member, now: float, request_id: int, request: FetchRequest) -> None:
    """Bring what there is beyond ``fetch_offset``, say where the logs part, or let the request wait."""
    reason = _doubt_about_fetch(request) or doubt_about_leader(member, request.epoch)
    if reason is None and request.replica_id == member.node_id:
        reason = Reason.FROM_MYSELF
    if reason is not None:
        member.refuse(request_id, request, request.replica_id, reason)
        return
    state = member.state
    assert isinstance(state, Leader)
    snapshot = _snapshot_for(member, request)
    diverging = None if snapshot else where_logs_part(member, request)
    if snapshot or diverging:
        member.reply(request_id, _fetched(member, snapshot=snapshot, diverging=diverging))
        return
    if not _note_progress(member, now, state, request):
        member.refuse(request_id, request, request.replica_id, Reason.TOO_MANY_OBSERVERS)
        return
    deadline = now + min(request.max_wait_s, member.timing.fetch_timeout_s)
    parked = ParkedFetch(request_id, request, deadline)
    older = state.parked.pop(parked.owner, None)
    if older is not None:
        member.reply(older.request_id, _fetched(member))
    if request.fetch_offset < member.log.end_offset or request.max_wait_s <= 0 or _lags(member, request):
        _answer_parked(member, state, parked)
    else:
        state.parked[parked.owner] = parked


def _doubt_about_fetch(request: FetchRequest) -> Reason | None:
    if request.fetch_offset < 0 or not 0 <= request.last_fetched_epoch <= request.epoch:
        return Reason.IMPOSSIBLE_OFFSET
    return None


def _high_watermark(member: Member) -> int:
    """What a leader tells of the high watermark: -1 until something of its own epoch is committed.

    What it knows from before may be less than a follower does, and a high watermark never goes back.
    """
    state = member.state
    assert isinstance(state, Leader)
    return member.high_watermark if member.high_watermark > state.epoch_start else -1


def _lags(member: Member, request: FetchRequest) -> bool:
    """Whether the replica said that it knows less to be committed than is (KIP-1166)."""
    return request.high_watermark is not None and request.high_watermark < _high_watermark(member)


def _snapshot_for(member: Member, request: FetchRequest) -> SnapshotId | None:
    """The snapshot that a replica must begin with, if the log does not reach back to what it needs (KIP-630)."""
    log = member.log
    out_of_reach = request.fetch_offset < log.start_offset or request.last_fetched_epoch < log.start_epoch
    return log.snapshot if out_of_reach or request.fetch_offset == 0 else None


def where_logs_part(member: Member, request: FetchRequest) -> EpochEnd | None:
    """The end of the last epoch that the replica can share with this log, if what it fetched does not match it."""
    if request.fetch_offset == 0 and request.last_fetched_epoch == 0:
        return None
    end = member.log.end_of(request.last_fetched_epoch)
    matches = end.epoch == request.last_fetched_epoch and request.fetch_offset <= end.end_offset
    return None if matches else end


def _note_progress(member: Member, now: float, state: Leader, request: FetchRequest) -> bool:
    """Note how far a replica is; return False if it is an observer too many. A voter may make records committed."""
    replica, offset = request.replica_id, request.fetch_offset
    if replica < 0:
        return len(state.parked) < MAX_OBSERVERS
    book = state.progress if replica in state.progress else state.observers
    if book is state.observers and replica not in book:
        _forget_observers(member, now, state)
        if len(book) >= MAX_OBSERVERS:
            return False
    known = book.get(replica, Progress())
    caught_up_at = now if offset >= member.log.end_offset else known.caught_up_at
    book[replica] = Progress(offset, now, caught_up_at, acknowledged=True)
    if book is state.progress:
        note_contact(member, state)
        advance_high_watermark(member, state)
    return True


def _forget_observers(member: Member, now: float, state: Leader) -> None:
    oldest = now - member.timing.observer_session_s
    for observer in [key for key, progress in state.observers.items() if progress.fetched_at < oldest]:
        del state.observers[observer]


def note_contact(member: Member, state: Leader) -> None:
    """Put off the resignation: it is due when no majority, this leader in it, has fetched for the check-quorum time."""
    contacts = sorted((state.progress[voter].fetched_at for voter in member.others), reverse=True)
    state.check_quorum_at = contacts[member.majority - 2] + member.timing.check_quorum_s


def _answer_parked(member: Member, state: Leader, parked: ParkedFetch) -> None:
    state.parked.pop(parked.owner, None)
    offset = parked.request.fetch_offset
    records = member.log.read(offset) if offset < member.log.end_offset else None
    member.reply(
        parked.request_id,
        member.respond(FetchResponse, ErrorCode.NONE, high_watermark=_high_watermark(member), records=records),
    )


def _fetched(member: Member, snapshot: SnapshotId | None = None, diverging: EpochEnd | None = None) -> FetchResponse:
    return member.respond(
        FetchResponse,
        ErrorCode.NONE,
        high_watermark=_high_watermark(member),
        snapshot=snapshot,
        diverging=diverging,
    )


def answer_fetch_snapshot(member: Member, now: float, request_id: int, request: FetchSnapshotRequest) -> None:
    """Let the driver bring a piece of a snapshot."""
    reason = doubt_about_leader(member, request.epoch)
    newest = member.log.snapshot
    if reason is None and (newest is None or request.snapshot.end_offset > newest.end_offset):
        reason = Reason.NO_SUCH_SNAPSHOT
    if reason is not None:
        member.refuse(request_id, request, request.replica_id, reason)
        return
    state = member.state
    assert isinstance(state, Leader)
    if request.replica_id in member.others:
        known = state.progress[request.replica_id]
        state.progress[request.replica_id] = attrs.evolve(known, fetched_at=now, acknowledged=True)
        note_contact(member, state)
    member.reply(request_id, member.respond(FetchSnapshotResponse, ErrorCode.NONE, position=request.position))


# Beginning and ending an epoch.


def take_begin_response(member: Member, now: float, event: ResponseReceived) -> None:
    response, state = event.response, member.state
    assert isinstance(response, BeginQuorumEpochResponse)
    member.learn(now, response.epoch, response.leader_id, event.to)
    if isinstance(state, Leader) and member.state is state and response.epoch == event.request.epoch == state.epoch:
        state.progress[event.to] = attrs.evolve(state.progress[event.to], acknowledged=True)


def take_timeout(member: Member, now: float, state: Leader) -> None:
    """Resign if the majority is silent; else remind the silent ones, and answer who has waited long enough."""
    if now >= state.check_quorum_at:
        resign(member, now, "no majority fetched for too long")
        return
    if now >= state.begin_at:
        state.begin_at = now + member.timing.begin_epoch_interval_s
        for voter in member.others:
            progress = state.progress[voter]
            if not progress.acknowledged or progress.fetched_at <= now - member.timing.begin_epoch_interval_s:
                member.send(voter, BeginQuorumEpochRequest(state.epoch, member.node_id))
    for parked in [parked for parked in state.parked.values() if now >= parked.deadline]:
        _answer_parked(member, state, parked)


def resign(member: Member, now: float, why: str) -> None:
    """Give the epoch up, and tell the others who should succeed: the longest log first."""
    state = member.state
    assert isinstance(state, Leader)
    successors = sorted(member.others, key=lambda voter: (-state.progress[voter].end_offset, voter))
    deadline = now + member.timing.election_timeout(member.jitter())
    member.become(Resigned(state.epoch, member.node_id, deadline, tuple(successors), frozenset(member.others)), why)
    tell_end(member, now)


def tell_end(member: Member, now: float) -> None:
    """Tell those that did not acknowledge it yet that the epoch is over."""
    state = member.state
    assert isinstance(state, Resigned)
    for voter in sorted(state.unacknowledged):
        member.send(voter, EndQuorumEpochRequest(state.epoch, member.node_id, state.successors))
    again_at = now + member.timing.request_timeout_s if state.unacknowledged else math.inf
    deadline = math.inf if member.shutting_down else state.election_deadline
    member.state = attrs.evolve(state, end_at=again_at, election_deadline=deadline)


def take_end_response(member: Member, now: float, event: ResponseReceived) -> None:
    response = event.response
    assert isinstance(response, EndQuorumEpochResponse)
    member.learn(now, response.epoch, response.leader_id, event.to)
    state = member.state
    if isinstance(state, Resigned) and event.request.epoch == state.epoch and response.error is ErrorCode.NONE:
        waiting = state.unacknowledged - {event.to}
        end_at = state.end_at if waiting else math.inf
        member.state = attrs.evolve(state, unacknowledged=waiting, end_at=end_at)


def take_end_failure(member: Member, event: RequestFailed) -> None:
    """Who cannot be told that the epoch is over does not keep this node from stopping."""
    state = member.state
    if isinstance(state, Resigned) and event.request.epoch == state.epoch and member.shutting_down:
        member.state = attrs.evolve(state, unacknowledged=state.unacknowledged - {event.to})


def leave_resigned(member: Member, now: float, state: Resigned) -> bool:
    """Return whether nobody else was elected in time: in a new epoch this voter may vote and stand again."""
    if now >= state.election_deadline:
        epoch = member.next_epoch()
        if epoch is not None:
            member.detach(now, epoch, "nobody was elected since I resigned")
        return epoch is not None
    if now >= state.end_at:
        tell_end(member, now)
    return False
