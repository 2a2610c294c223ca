"""Elections (KIP-595), each with a round of pre-votes first (KIP-996).

A voter grants one vote per epoch, to a log at least as long as its own. The vote is durable before the response is
sent. A voter that is cut off gets no majority of pre-votes. So it does not disturb the others with ever newer epochs.
"""

from __future__ import annotations

import math

import attrs

from kraft.raft import leader
from kraft.raft.events import Reason, RequestFailed, ResponseReceived
from kraft.raft.member import Member
from kraft.raft.messages import VoteRequest, VoteResponse
from kraft.raft.state import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraft.wire.errors import ErrorCode

_GRANTS = frozenset({Reason.GRANTED, Reason.GRANTED_AGAIN})


def answer_vote(member: Member, now: float, request_id: int, request: VoteRequest) -> None:
    """Answer a request for a vote or a pre-vote."""
    candidate = request.candidate_id
    reason = _first_refusal(member, request)
    if reason is not None:
        member.refuse(request_id, request, candidate, reason)
        return
    if request.epoch > member.epoch:
        member.detach(now, request.epoch, f"{candidate} requested a vote in a newer epoch")
    reason = judge_vote(member, request)
    granted = reason in _GRANTS
    if granted and not request.pre_vote:
        _vote_for(member, now, candidate)
    member.judge(request, candidate, granted, reason)
    member.reply(request_id, member.respond(VoteResponse, ErrorCode.NONE, granted=granted))


def _first_refusal(member: Member, request: VoteRequest) -> Reason | None:
    """Return why the request is refused independently of this member's vote, or None."""
    newest_possible = request.epoch if request.pre_vote else request.epoch - 1
    if member.shutting_down:
        return Reason.SHUTTING_DOWN
    if not member.is_voter:
        return Reason.I_AM_NO_VOTER
    if request.last_offset < 0 or not 0 <= request.last_epoch <= newest_possible:
        return Reason.IMPOSSIBLE_LOG
    if request.epoch < member.epoch:
        return Reason.STALE_EPOCH
    if member.is_implausible(request.epoch):
        return Reason.IMPLAUSIBLE_EPOCH
    if request.candidate_id < 0:
        return Reason.FROM_NOBODY
    if request.candidate_id not in member.voters:
        return Reason.NOT_A_VOTER
    if request.candidate_id == member.node_id:
        return Reason.FROM_MYSELF
    return None


def judge_vote(member: Member, request: VoteRequest) -> Reason:
    """Return whether the candidate gets the vote or the pre-vote, as a reason."""
    own_log = (member.log.last_epoch, member.log.end_offset)
    by_log = Reason.GRANTED if (request.last_epoch, request.last_offset) >= own_log else Reason.SHORTER_LOG
    match member.state:
        case Leader():
            return Reason.I_LEAD
        case Follower(has_fetched=has_fetched):
            if not request.pre_vote:
                return Reason.LEADER_KNOWN
            return Reason.LEADER_ALIVE if has_fetched else by_log
        case Resigned():
            return by_log if request.pre_vote else Reason.I_RESIGNED
        case Candidate():
            return by_log if request.pre_vote else Reason.VOTED_FOR_MYSELF
        case Unattached() | Prospective() if not request.pre_vote and member.elected_id is not None:
            return Reason.LEADER_KNOWN
        case Unattached(voted_for=int(voted_for)) | Prospective(voted_for=int(voted_for)) if not request.pre_vote:
            return Reason.GRANTED_AGAIN if voted_for == request.candidate_id else Reason.VOTED_FOR_ANOTHER
    return by_log


def _vote_for(member: Member, now: float, candidate: int) -> None:
    """Grant the vote of this epoch, and give the candidate one election timeout to win."""
    state = member.state
    assert isinstance(state, Unattached | Prospective), f"{state} has no vote to give"
    deadline = now + member.timing.election_timeout(member.jitter())
    member.state = attrs.evolve(state, voted_for=candidate, election_deadline=deadline)


def seek_votes(member: Member, now: float, why: str, retries: int = 0) -> None:
    """Become Prospective and request pre-votes."""
    state = member.state
    deadline = now + member.timing.election_timeout(member.jitter())
    granted = frozenset({member.node_id})
    former = state.former_leader_id if isinstance(state, Unattached) else None
    resigned = isinstance(state, Follower) and state.resigned
    prospective = Prospective(
        state.epoch, deadline, member.leader_id, state.voted_for, former, resigned, granted=granted, retries=retries
    )
    member.become(prospective, why)
    if len(granted) >= member.majority:
        become_candidate(member, now, prospective, "the quorum has no other voter")
    else:
        _request_votes(member, VoteRequest(state.epoch, *_candidate_and_log(member), pre_vote=True))


def become_candidate(member: Member, now: float, prospective: Prospective, why: str) -> None:
    """Become a candidate in a new epoch and request votes."""
    epoch = member.next_epoch()
    if epoch is None:
        return
    deadline = now + member.timing.election_timeout(member.jitter()) if member.others else math.inf
    candidate = Candidate(epoch, deadline, voted_for=member.node_id, retries=prospective.retries)
    member.become(candidate, why)
    _request_votes(member, VoteRequest(candidate.epoch, *_candidate_and_log(member)))


def _candidate_and_log(member: Member) -> tuple[int, int, int]:
    return member.node_id, member.log.end_offset, member.log.last_epoch


def _request_votes(member: Member, request: VoteRequest) -> None:
    for voter in member.others:
        member.send(voter, request)


def count_own_vote(member: Member, now: float, epoch: int, voted_for: int | None) -> None:
    """Count this member's own vote, if the durable vote of the epoch is for itself."""
    state = member.state
    if isinstance(state, Candidate) and state.epoch == epoch and voted_for == member.node_id:
        count_vote(member, now, state, member.node_id)


def take_vote_response(member: Member, now: float, event: ResponseReceived) -> None:
    """Count a vote or a pre-vote, if it belongs to the present election."""
    request, response = event.request, event.response
    assert isinstance(request, VoteRequest)
    assert isinstance(response, VoteResponse)
    member.learn(now, response, event.to)
    state = member.state
    if member.shutting_down or request.epoch != state.epoch or response.error is not ErrorCode.NONE:
        return
    if isinstance(state, Prospective) and request.pre_vote:
        _count_pre_vote(member, now, state, event.to, response)
    elif isinstance(state, Candidate) and not request.pre_vote:
        if response.granted:
            count_vote(member, now, state, event.to)
        else:
            _count_refusal(member, now, state, event.to)


def _count_pre_vote(member: Member, now: float, state: Prospective, voter: int, response: VoteResponse) -> None:
    if response.granted:
        state = attrs.evolve(state, granted=state.granted | {voter}, refused=state.refused - {voter})
        member.state = state
        if len(state.granted) >= member.majority:
            become_candidate(member, now, state, _with_votes(state.granted, "would grant"))
        return
    state = attrs.evolve(state, refused=state.refused | {voter})
    member.state = state
    if voter == state.leader_id == response.leader_id and not state.resigned:
        end_pre_votes(member, now, state, f"{voter} responded as the leader")
    elif _is_lost(member, state.refused):
        end_pre_votes(member, now, state, _with_votes(state.refused, "would refuse"))


def end_pre_votes(member: Member, now: float, state: Prospective, why: str) -> None:
    """Stop seeking pre-votes. Follow the known leader again, or wait for another voter's election."""
    if state.leader_id is not None and not state.resigned:
        member.follow(now, state.epoch, state.leader_id, why)
        return
    deadline = now + member.timing.election_timeout(member.jitter())
    request_at = member.next_request_at(now)
    member.become(Unattached(state.epoch, deadline, state.voted_for, member.elected_id, request_at), why)


def count_vote(member: Member, now: float, state: Candidate, voter: int) -> None:
    granted = state.granted | {voter}
    member.state = attrs.evolve(state, granted=granted)
    if len(granted) >= member.majority:
        alone = granted == {member.node_id}
        leader.lead(member, now, granted, "its own vote is a majority" if alone else _with_votes(granted, "granted"))


def _count_refusal(member: Member, now: float, state: Candidate, voter: int) -> None:
    state = attrs.evolve(state, refused=state.refused | {voter})
    member.state = state
    if _is_lost(member, state.refused) and not state.backing_off:
        back_off(member, now, state)


def back_off(member: Member, now: float, state: Candidate) -> None:
    """Pause after a lost election, longer each time."""
    pause = member.timing.election_backoff(state.retries, member.jitter())
    member.state = attrs.evolve(
        state, backing_off=True, election_deadline=now + pause, unreached=frozenset(), request_at=math.inf
    )


def take_vote_failure(member: Member, now: float, event: RequestFailed) -> None:
    """Send the request to this voter again after a pause.

    A voter without pre-votes would never answer one, so the member becomes a candidate without them (KIP-996).
    """
    request, state = event.request, member.state
    assert isinstance(request, VoteRequest)
    if not isinstance(state, Prospective | Candidate) or not _is_of(state, request):
        return
    if not member.may_become_candidate:
        return
    if isinstance(state, Prospective) and event.unsupported:
        become_candidate(member, now, state, f"{event.to} does not support pre-votes")
    elif event.to not in state.granted | state.refused:
        request_at = min(state.request_at, now + member.timing.retry_backoff_s)
        member.state = attrs.evolve(state, unreached=state.unreached | {event.to}, request_at=request_at)


def _is_of(state: Prospective | Candidate, request: VoteRequest) -> bool:
    """Whether the request belongs to this election, and the election is not lost."""
    lost = isinstance(state, Candidate) and state.backing_off
    return not lost and request.epoch == state.epoch and request.pre_vote is isinstance(state, Prospective)


def request_again(member: Member, state: Prospective | Candidate) -> None:
    """Send the request again to the voters that did not answer."""
    request = VoteRequest(state.epoch, *_candidate_and_log(member), pre_vote=isinstance(state, Prospective))
    for voter in sorted(state.unreached):
        member.send(voter, request)
    member.state = attrs.evolve(state, unreached=frozenset(), request_at=math.inf)


def _is_lost(member: Member, refused: frozenset[int]) -> bool:
    return len(refused) > len(member.voters) - member.majority


def _with_votes(voters: frozenset[int], what: str) -> str:
    """Return the clause that these voters do something with their votes, for a transition's reason."""
    *names, last = map(str, sorted(voters))
    return f"{', '.join(names)} and {last} {what} their votes" if names else f"{last} {what} its vote"
