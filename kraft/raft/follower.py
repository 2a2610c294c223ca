"""Following a leader: fetch, check, append, flush, fetch again (KIP-595); and finding a leader to follow.

A Fetch reports everything below its offset as durable, so it is sent only when that is true. Only one request is
pending at a time. If the logs diverge, the follower truncates its own. It never truncates a committed record.
"""

from __future__ import annotations

import math

import attrs

from kraft.raft.events import (
    FetchedRecords,
    Reason,
    RequestFailed,
    ResponseReceived,
    SnapshotRejected,
    SnapshotStored,
    StoreChunk,
)
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
)
from kraft.raft.state import Follower, Prospective, SnapshotDownload, Unattached
from kraft.wire.errors import ErrorCode

# Requests.


def request_if_due(member: Member, now: float) -> None:
    """Send the next Fetch or FetchSnapshot, once its time has come and the whole log is durable."""
    state = member.state
    if not isinstance(state, (Follower, Unattached)) or now < state.request_at or not member.log.all_durable:
        return
    again_at = now + member.timing.request_timeout_s
    if isinstance(state, Unattached):
        voter = member.others[int(member.jitter() * len(member.others))]
        number = member.send(voter, _fetch(member, max_wait_s=0.0))
        member.state = attrs.evolve(state, pending_request=number, request_at=again_at)
    elif state.download is not None:
        download = state.download
        request = FetchSnapshotRequest(state.epoch, member.node_id, download.snapshot, download.position)
        member.state = state.requesting(member.send(state.leader_id, request), again_at)
    else:
        wait_s = member.timing.fetch_max_wait_s
        member.state = state.requesting(member.send(state.leader_id, _fetch(member, wait_s)), again_at + wait_s)


def _fetch(member: Member, max_wait_s: float) -> FetchRequest:
    log = member.log
    return FetchRequest(member.epoch, member.node_id, log.end_offset, log.last_epoch, max_wait_s, member.high_watermark)


def take_failure(member: Member, now: float, event: RequestFailed) -> None:
    """Send a request again after a pause, if the failed one was pending.

    After an unusable response the follower gives up its snapshot. Apache Kafka's leaders do not report that a snapshot
    is gone, or that they lead no more. The response to the next Fetch will.
    """
    state = member.state
    if isinstance(state, Follower) and state.pending_request == event.number:
        bad = state.had_bad_response or event.answered or event.unsupported
        download = None if event.answered else state.download
        _retry(member, now, attrs.evolve(state, had_bad_response=bad, download=download))
    elif isinstance(state, Unattached) and state.pending_request == event.number:
        member.state = attrs.evolve(state, pending_request=None, request_at=member.next_request_at(now))


def _retry(member: Member, now: float, state: Follower) -> None:
    member.state = attrs.evolve(state, pending_request=None, request_at=now + member.timing.retry_backoff_s)


def take_timeout(member: Member, now: float, state: Follower) -> bool:
    """Return whether a voter gives up its leader and starts an election.

    During the check of a snapshot no request is pending, so the leader cannot miss its deadline. But the member cannot
    know then whether the leader is alive, so it may grant a pre-vote.
    """
    if now < state.fetch_deadline:
        return False
    if state.download is not None and state.download.complete:
        member.state = attrs.evolve(state, fetch_deadline=math.inf, has_fetched=False)
        return False
    if member.may_become_candidate:
        return True
    former = state.leader_id if member.is_voter else None
    member.become(Unattached(state.epoch, math.inf, state.voted_for, former, now), why_given_up(member, state))
    return False


def why_given_up(member: Member, state: Follower) -> str:
    """Return why the leader was given up."""
    if state.resigned:
        return f"{state.leader_id} resigned"
    if state.had_bad_response:
        return f"{state.leader_id} sent no usable response within the fetch timeout"
    if not member.log.all_durable:
        return f"the disk flushed too slowly to fetch from {state.leader_id} within the fetch timeout"
    return f"{state.leader_id} sent no response within the fetch timeout"


# Responses.


def take_fetch_response(member: Member, now: float, event: ResponseReceived) -> None:
    """Apply the response of the leader, if it belongs to the pending request."""
    response = event.response
    assert isinstance(response, FetchResponse)
    state = _expected(member, now, event)
    if state is None:
        return
    member.state = state = state.fetched(now, now + member.timing.fetch_timeout_s)
    if response.diverging is not None:
        _cut(member, now, state, response.diverging)
    elif response.snapshot is not None:
        if response.snapshot.end_offset > member.high_watermark:
            member.state = attrs.evolve(state, download=SnapshotDownload(response.snapshot))
        else:
            _retry(member, now, state)
    elif response.records is not None and not _continues(member, response.records):
        _retry(member, now, state)
    else:
        if response.records is not None:
            _append(member, FetchedRecords(response.records, event.payload))
        member.commit(min(response.high_watermark, member.log.end_offset))


def _expected(member: Member, now: float, event: ResponseReceived) -> Follower | None:
    """Learn from a response; return the state if it is a good response to the pending request."""
    response, before = event.response, member.state
    member.learn(now, response, event.to)
    state = member.state
    if state is not before:
        return None
    if isinstance(state, Unattached) and state.pending_request == event.number:
        member.state = attrs.evolve(state, pending_request=None, request_at=member.next_request_at(now))
    if not isinstance(state, Follower) or state.pending_request != event.number:
        return None
    if response.error is not ErrorCode.NONE or response.epoch != state.epoch:
        _begin_again(member, now, state)
        return None
    return state


def _begin_again(member: Member, now: float, state: Follower) -> None:
    """Fetch again after an unusable response. The response to that Fetch says how to continue."""
    _retry(member, now, attrs.evolve(state, had_bad_response=True, download=None))


def _cut(member: Member, now: float, state: Follower, leader_end: EpochEnd) -> None:
    offset = member.log.diverging_from(leader_end)
    if offset < member.high_watermark:
        member.effects.fatal = (
            f"the log diverges from that of leader {state.leader_id} of epoch {state.epoch} at offset {offset}, "
            f"below the high watermark {member.high_watermark}, so truncation would remove committed records"
        )
    elif offset < member.log.end_offset:
        member.log.truncate(offset)
        member.effects.truncate = offset
    else:
        _retry(member, now, state)


def _continues(member: Member, records: LogSlice) -> bool:
    """Whether records continue the log: they begin at its end, and their epochs rise at most to the present one."""
    end, epoch = records.base_offset, member.log.last_epoch
    if end != member.log.end_offset or not records.runs:
        return False
    for run in records.runs:
        if run.end_offset <= end or not epoch <= run.epoch <= member.epoch:
            return False
        epoch, end = run
    return True


def _append(member: Member, fetched: FetchedRecords) -> None:
    for run in fetched.records.runs:
        member.log.append(run.end_offset, run.epoch)
    member.effects.append = fetched
    member.effects.flush = True


# Snapshots (KIP-630).


def take_snapshot_response(member: Member, now: float, event: ResponseReceived) -> None:
    """Store the piece of a response, and request the next one."""
    response = event.response
    assert isinstance(response, FetchSnapshotResponse)
    state = _expected(member, now, event)
    if state is None:
        return
    download = state.download
    if download is None or response.position != download.position or response.length <= 0:
        _begin_again(member, now, state)
        return
    state = state.fetched(now, now + member.timing.fetch_timeout_s)
    position = download.position + response.length
    complete = position >= response.size
    member.effects.store = StoreChunk(download.snapshot, download.position, complete, event.payload)
    download = SnapshotDownload(download.snapshot, position, complete)
    member.state = attrs.evolve(state, download=download, request_at=math.inf if complete else now)


def take_stored_snapshot(member: Member, now: float, event: SnapshotStored) -> None:
    """Begin the log behind the snapshot, and fetch the records after it.

    A snapshot is useful while it covers more than the log. Only a follower may replace its log, so a member in another
    state keeps the snapshot until it follows.
    """
    snapshot, state = event.snapshot, member.state
    if not isinstance(state, Follower):
        member.unused_snapshot = max(snapshot, member.unused_snapshot or snapshot)
        return
    download = state.download
    awaited = download is not None and download.complete and download.snapshot == snapshot
    if awaited or snapshot.end_offset > member.log.end_offset:
        member.install(snapshot)
        member.state = _asking_again(member, now, state)


def _asking_again(member: Member, now: float, state: Follower) -> Follower:
    """Return a state in which the next request is due at once, and the leader has time to respond."""
    deadline = now + member.timing.fetch_timeout_s if math.isinf(state.fetch_deadline) else state.fetch_deadline
    return attrs.evolve(state, download=None, pending_request=None, request_at=now, fetch_deadline=deadline)


def take_rejected_snapshot(member: Member, now: float, event: SnapshotRejected) -> None:
    """Fetch again. The leader will name a snapshot again."""
    state = member.state
    if isinstance(state, Follower) and state.download is not None and state.download.snapshot == event.snapshot:
        _begin_again(member, now, _asking_again(member, now, state))


# Requests of leaders.


def answer_begin(member: Member, now: float, request_id: int, request: BeginQuorumEpochRequest) -> None:
    """Follow the sender, if it may lead this epoch."""
    leader = request.leader_id
    reason = _refusal(member, request.epoch, leader)
    if reason is None and request.epoch == member.epoch and member.elected_id not in (None, leader):
        reason = Reason.OTHER_LEADER
    if reason is not None:
        member.refuse(request_id, request, leader, reason)
        return
    if request.epoch > member.epoch or member.state.leader_id is None:
        member.follow(now, request.epoch, leader, f"{leader} sent BeginQuorumEpoch")
    member.judge(request, leader, True, Reason.FROM_LEADER)
    member.reply(request_id, member.respond(BeginQuorumEpochResponse, ErrorCode.NONE))


def _refusal(member: Member, epoch: int, leader: int) -> Reason | None:
    if member.shutting_down:
        return Reason.SHUTTING_DOWN
    if epoch < member.epoch:
        return Reason.STALE_EPOCH
    if member.is_implausible(epoch):
        return Reason.IMPLAUSIBLE_EPOCH
    if leader < 0:
        return Reason.FROM_NOBODY
    if leader not in member.voters:
        return Reason.NOT_A_VOTER
    return Reason.FROM_MYSELF if leader == member.node_id else None


def answer_end(member: Member, now: float, request_id: int, request: EndQuorumEpochRequest) -> None:
    """Note that the leader resigned. The first successor seeks votes at once, the others later in turn."""
    leader, successors = request.leader_id, request.preferred_successors
    reason = _refusal(member, request.epoch, leader)
    if reason is not None:
        member.refuse(request_id, request, leader, reason)
        return
    seeking = isinstance(member.state, Prospective) and member.state.leader_id == leader
    if request.epoch > member.epoch or member.state.leader_id is None or seeking:
        member.follow(now, request.epoch, leader, f"{leader} sent EndQuorumEpoch")
    rank = successors.index(member.node_id) if member.node_id in successors else len(successors)
    stand_at = now + member.timing.succession_delay(rank, len(successors))
    state = member.state
    if isinstance(state, Follower) and state.leader_id == leader:
        member.state = attrs.evolve(
            state,
            fetch_deadline=stand_at,
            has_fetched=False,
            resigned=True,
            pending_request=None,
            request_at=math.inf,
            download=None,
        )
    member.judge(request, leader, True, Reason.FROM_LEADER)
    member.reply(request_id, member.respond(EndQuorumEpochResponse, ErrorCode.NONE))
