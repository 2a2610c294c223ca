"""Leading an epoch: followers fetch, and a Fetch offset is what the follower holds durably (KIP-595).

An offset is committed once a majority of voters holds it durably *and* it is above the start of the leader's own epoch.
Records of earlier epochs are committed together with a later record of this epoch (Raft, figure 8). A leader resigns if
no majority fetches from it, since the other voters may have elected another leader.
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
    LogSlice,
    SnapshotId,
)
from kraft.raft.state import Leader, ParkedFetch, Progress, Resigned
from kraft.wire.errors import ErrorCode

#: The most observers that a leader tracks.
MAX_OBSERVERS = 10_000


def lead(member: Member, now: float, granted: frozenset[int], why: str) -> None:
    """Become leader: append a LeaderChange, and send BeginQuorumEpoch to the other voters."""
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
    member.effects.append = LeaderChange(state.epoch, member.node_id, member.voters, tuple(sorted(granted)))


# The leader's own log.


def take_append(member: Member, end_offset: int, epoch: int) -> None:
    """Note an append to the leader's log: flush it, and answer the parked Fetches."""
    state = member.state
    assert isinstance(state, Leader), "only a leader appends"
    assert epoch == state.epoch, "a leader appends in its own epoch"
    member.log.append(end_offset, epoch)
    member.effects.flush = True
    for owner in list(state.parked):
        _answer_parked(member, state, owner)


def take_flush(member: Member, state: Leader) -> None:
    """Note a flush of the leader's own log."""
    state.progress[member.node_id].end_offset = member.log.durable_offset
    advance_high_watermark(member, state)


def advance_high_watermark(member: Member, state: Leader) -> None:
    """Commit what a majority holds, once that includes a record of this epoch."""
    ends = sorted([progress.end_offset for progress in state.progress.values()])
    held_by_majority = ends[-member.majority]
    if held_by_majority <= member.high_watermark or held_by_majority <= state.epoch_start:
        return
    member.commit(held_by_majority)
    for owner in [owner for owner, parked in state.parked.items() if _lags(member, state, parked.request)]:
        _answer_parked(member, state, owner)


# Fetches.


def leader_refusal(member: Member, epoch: int) -> Reason | None:
    """Return why a request to the leader of ``epoch`` is refused here; None if it is not."""
    if member.shutting_down:
        return Reason.SHUTTING_DOWN
    if epoch < member.epoch:
        return Reason.STALE_EPOCH
    if epoch > member.epoch:
        return Reason.UNKNOWN_EPOCH
    return None if isinstance(member.state, Leader) else Reason.NOT_LEADER


def answer_fetch(member: Member, now: float, request_id: int, request: FetchRequest) -> None:
    """Answer with records from ``fetch_offset`` on, with the diverging epoch, or with a snapshot id; or park the
    request.
    """
    reason = _fetch_refusal(request) or leader_refusal(member, request.epoch)
    if reason is None and request.replica_id == member.node_id:
        reason = Reason.FROM_MYSELF
    if reason is not None:
        member.refuse(request_id, request, request.replica_id, reason)
        return
    state = member.state
    assert isinstance(state, Leader)
    snapshot = _snapshot_for(member, request)
    diverging = None if snapshot else diverging_epoch(member, request)
    if snapshot or diverging:
        member.reply(request_id, _fetched(member, state, snapshot=snapshot, diverging=diverging))
        return
    if not _note_progress(member, now, state, request):
        member.refuse(request_id, request, request.replica_id, Reason.TOO_MANY_OBSERVERS)
        return
    owner = request.replica_id if request.replica_id >= 0 else -1 - request_id
    older = state.parked.pop(owner, None)
    if older is not None:
        member.reply(older.request_id, _fetched(member, state))
    if request.fetch_offset < member.log.end_offset or request.max_wait_s <= 0 or _lags(member, state, request):
        _reply_records(member, state, request_id, request)
    else:
        deadline = now + min(request.max_wait_s, member.timing.fetch_timeout_s)
        state.parked[owner] = ParkedFetch(request_id, request, deadline)


def _fetch_refusal(request: FetchRequest) -> Reason | None:
    if request.fetch_offset < 0 or not 0 <= request.last_fetched_epoch <= request.epoch:
        return Reason.IMPOSSIBLE_OFFSET
    return None


def _high_watermark(member: Member, state: Leader) -> int:
    """Return the high watermark for responses: -1 until a record of this epoch is committed.

    A new leader may know a lower one than its followers do, and a high watermark never goes back.
    """
    return member.high_watermark if member.high_watermark > state.epoch_start else -1


def _lags(member: Member, state: Leader, request: FetchRequest) -> bool:
    """Whether the replica reported a lower high watermark than the leader's (KIP-1166)."""
    return request.high_watermark is not None and request.high_watermark < _high_watermark(member, state)


def _snapshot_for(member: Member, request: FetchRequest) -> SnapshotId | None:
    """Return the snapshot that a replica must fetch first: it has no log, or ours begins too late (KIP-630)."""
    log = member.log
    out_of_reach = request.fetch_offset < log.start_offset or request.last_fetched_epoch < log.start_epoch
    return log.snapshot if out_of_reach or request.fetch_offset == 0 else None


def diverging_epoch(member: Member, request: FetchRequest) -> EpochEnd | None:
    """Return the end of the last epoch that the replica may share with this log; None if the logs match."""
    if request.fetch_offset == 0 and request.last_fetched_epoch == 0:
        return None
    end = member.log.end_of(request.last_fetched_epoch)
    matches = end.epoch == request.last_fetched_epoch and request.fetch_offset <= end.end_offset
    return None if matches else end


def _note_progress(member: Member, now: float, state: Leader, request: FetchRequest) -> bool:
    """Record the progress of a replica. A voter's progress may advance the high watermark.

    Returns False if the replica is one observer too many.
    """
    replica, offset = request.replica_id, request.fetch_offset
    if replica < 0:
        return len(state.parked) < MAX_OBSERVERS
    known = state.progress.get(replica) or state.observers.get(replica)
    if known is None:
        _forget_observers(member, now, state)
        if len(state.observers) >= MAX_OBSERVERS:
            return False
        known = state.observers[replica] = Progress()
    known.end_offset, known.fetched_at, known.acknowledged = offset, now, True
    if offset >= member.log.end_offset:
        known.caught_up_at = now
    if replica in state.progress:
        note_contact(member, state)
        if offset > member.high_watermark:
            advance_high_watermark(member, state)
    return True


def _forget_observers(member: Member, now: float, state: Leader) -> None:
    oldest = now - member.timing.observer_session_s
    for observer in [key for key, progress in state.observers.items() if progress.fetched_at < oldest]:
        del state.observers[observer]


def note_contact(member: Member, state: Leader) -> None:
    """Move the deadline of the resignation.

    It passes once no majority, including this leader, has fetched for the check-quorum time.
    """
    contacts = sorted([state.progress[voter].fetched_at for voter in member.others])
    latest_of_majority = contacts[-(member.majority - 1)]  # this leader and the others that fetched last
    state.check_quorum_at = latest_of_majority + member.timing.check_quorum_s


def _answer_parked(member: Member, state: Leader, owner: int) -> None:
    parked = state.parked.pop(owner)
    _reply_records(member, state, parked.request_id, parked.request)


def _reply_records(member: Member, state: Leader, request_id: int, request: FetchRequest) -> None:
    """Answer a Fetch with the records from its offset on, or with none."""
    offset = request.fetch_offset
    records = member.log.read(offset) if offset < member.log.end_offset else None
    member.reply(request_id, _fetched(member, state, records))


def _fetched(
    member: Member,
    state: Leader,
    records: LogSlice | None = None,
    diverging: EpochEnd | None = None,
    snapshot: SnapshotId | None = None,
) -> FetchResponse:
    high_watermark = _high_watermark(member, state)
    return FetchResponse(ErrorCode.NONE, state.epoch, member.node_id, high_watermark, records, diverging, snapshot)


def answer_fetch_snapshot(member: Member, now: float, request_id: int, request: FetchSnapshotRequest) -> None:
    """Accept a FetchSnapshot. The driver adds the bytes to the response."""
    reason = leader_refusal(member, request.epoch)
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
        known.fetched_at, known.acknowledged = now, True
        note_contact(member, state)
    member.reply(request_id, member.respond(FetchSnapshotResponse, ErrorCode.NONE, position=request.position))


# Beginning and ending an epoch.


def take_begin_response(member: Member, now: float, event: ResponseReceived) -> None:
    response, state = event.response, member.state
    assert isinstance(response, BeginQuorumEpochResponse)
    member.learn(now, response, event.to)
    if isinstance(state, Leader) and member.state is state and response.epoch == event.request.epoch == state.epoch:
        state.progress[event.to].acknowledged = True


def take_timeout(member: Member, now: float, state: Leader) -> None:
    """Resign if no majority fetches. Otherwise send BeginQuorumEpoch to silent voters, and answer Fetches whose wait is
    over.
    """
    if now >= state.check_quorum_at:
        resign(member, now, "no majority fetched within the check-quorum timeout")
        return
    if now >= state.begin_at:
        state.begin_at = now + member.timing.begin_epoch_interval_s
        for voter in member.others:
            progress = state.progress[voter]
            if not progress.acknowledged or progress.fetched_at <= now - member.timing.begin_epoch_interval_s:
                member.send(voter, BeginQuorumEpochRequest(state.epoch, member.node_id))
    for owner in [owner for owner, parked in state.parked.items() if now >= parked.deadline]:
        _answer_parked(member, state, owner)


def resign(member: Member, now: float, why: str) -> None:
    """Resign from the epoch, and send EndQuorumEpoch with the preferred successors: the longest log first."""
    state = member.state
    assert isinstance(state, Leader)
    successors = sorted(member.others, key=lambda voter: (-state.progress[voter].end_offset, voter))
    deadline = now + member.timing.election_timeout(member.jitter())
    member.become(Resigned(state.epoch, member.node_id, deadline, tuple(successors), frozenset(member.others)), why)
    send_end(member, now)


def send_end(member: Member, now: float) -> None:
    """Send EndQuorumEpoch to the voters that have not acknowledged it."""
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
    member.learn(now, response, event.to)
    state = member.state
    if isinstance(state, Resigned) and event.request.epoch == state.epoch and response.error is ErrorCode.NONE:
        waiting = state.unacknowledged - {event.to}
        end_at = state.end_at if waiting else math.inf
        member.state = attrs.evolve(state, unacknowledged=waiting, end_at=end_at)


def take_end_failure(member: Member, event: RequestFailed) -> None:
    """Wait no longer for a voter that cannot be reached, if this node is stopping."""
    state = member.state
    if isinstance(state, Resigned) and event.request.epoch == state.epoch and member.shutting_down:
        member.state = attrs.evolve(state, unacknowledged=state.unacknowledged - {event.to})


def leave_resigned(member: Member, now: float, state: Resigned) -> bool:
    """Return whether no leader was elected in time. The voter has then entered a new epoch, to vote again."""
    if now >= state.election_deadline:
        epoch = member.next_epoch()
        if epoch is not None:
            member.detach(now, epoch, "the election timeout expired without a new leader")
        return epoch is not None
    if now >= state.end_at:
        send_end(member, now)
    return False
