"""Elections: which candidate gets a vote, and when a member seeks votes (KIP-595, KIP-996)."""

from __future__ import annotations

import math

import attrs
import pytest

from kraft.raft.core import RaftCore
from kraft.raft.events import ElectionStateWritten, RequestFailed, RequestReceived, Send, ShutDown, Timeout
from kraft.raft.member import LONGEST_LEAP, MAX_EPOCH
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Request,
    VoteRequest,
    VoteResponse,
)
from kraft.raft.state import Candidate, ElectionState, Follower, Leader, Prospective, Resigned, Unattached
from kraft.wire.errors import ErrorCode
from tests.raft.quorums import answer, elected, log_of, member, refusal, respond


def test_a_vote_is_written_before_it_is_sent() -> None:
    """KIP-595: the vote is persisted, so that no restart lets a voter vote twice in an epoch."""
    effects = member().step(0, RequestReceived(1, VoteRequest(3, 2, 0, 0)))
    assert effects.election == ElectionState(3, voted_for=2)
    assert effects.replies[0].response == VoteResponse(ErrorCode.NONE, 3, None, granted=True)


def test_one_vote_per_epoch() -> None:
    """KIP-595: a voter that has voted for another candidate in this epoch rejects; the same one again is granted."""
    core = member()
    assert answer(core, VoteRequest(3, 2, 0, 0)).granted
    assert answer(core, VoteRequest(3, 2, 0, 0)).granted
    assert refusal(core, VoteRequest(3, 3, 0, 0)) == "VOTED_FOR_ANOTHER"
    assert answer(core, VoteRequest(4, 3, 0, 0)).granted


def test_a_vote_outlives_a_restart() -> None:
    core = member(election=ElectionState(3, voted_for=2))
    assert refusal(core, VoteRequest(3, 3, 0, 0)) == "VOTED_FOR_ANOTHER"
    assert answer(core, VoteRequest(3, 2, 0, 0)).granted


@pytest.mark.parametrize(
    ("last_epoch", "last_offset", "granted"),
    [(3, 6, True), (3, 7, True), (4, 1, True), (3, 5, False), (2, 99, False)],
)
def test_only_a_log_at_least_as_long_gets_the_vote(last_epoch: int, last_offset: int, granted: bool) -> None:
    """KIP-595: compare the last epoch first, then the end offset."""
    core = member(election=ElectionState(4), log=log_of((1, 4), (3, 6)))
    for pre_vote in (True, False):
        assert answer(core, VoteRequest(5, 2, last_offset, last_epoch, pre_vote)).granted is granted


def test_a_newer_epoch_is_adopted_even_if_the_vote_is_refused() -> None:
    """KIP-595: a higher epoch moves the receiver to unattached before it judges."""
    core = member(log=log_of((1, 4)))
    response = answer(core, VoteRequest(9, 2, 0, 0))
    assert (response.granted, response.epoch, core.epoch) == (False, 9, 9)


def test_an_older_epoch_is_fenced() -> None:
    core = member(election=ElectionState(5))
    assert answer(core, VoteRequest(4, 2, 9, 3)) == VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, 5, None)


@pytest.mark.parametrize(
    "request_",
    [
        VoteRequest(3, 2, -1, 0),
        VoteRequest(3, 2, 0, -1),
        VoteRequest(3, 2, 5, 3),
        VoteRequest(3, 2, 5, 4, pre_vote=True),
    ],
)
def test_an_impossible_log_is_an_invalid_request(request_: VoteRequest) -> None:
    core = member()
    assert answer(core, request_).error is ErrorCode.INVALID_REQUEST
    assert core.epoch == 0


def test_only_voters_vote_and_are_voted_for() -> None:
    """KAFKA-17067: a node that is no voter must never become a candidate."""
    assert refusal(member(), VoteRequest(1, 9, 0, 0)) == "NOT_A_VOTER"
    assert answer(member(), VoteRequest(1, 9, 0, 0)).error is ErrorCode.NONE
    assert refusal(member(4), VoteRequest(1, 2, 0, 0)) == "I_AM_NO_VOTER"
    observer = member(4)
    assert observer.step(1e9, Timeout()).election is None
    assert isinstance(observer.state, Unattached)


def test_a_follower_whose_leader_responds_refuses_pre_votes() -> None:
    """KIP-996: a follower grants a pre-vote only if it has not yet fetched successfully from its leader."""
    core = member(2)
    assert answer(core, BeginQuorumEpochRequest(1, 1)).error is ErrorCode.NONE
    assert answer(core, VoteRequest(1, 3, 0, 0, pre_vote=True)).granted
    core.step(0, Timeout())
    quorum = elected(1)
    assert refusal(quorum.nodes[2].core, VoteRequest(1, 3, 99, 1, pre_vote=True), quorum.now) == "LEADER_ALIVE"
    assert refusal(quorum.nodes[1].core, VoteRequest(1, 3, 99, 1, pre_vote=True), quorum.now) == "I_LEAD"


def test_a_pre_vote_changes_nothing() -> None:
    """KIP-996: a pre-vote is not persisted, and several may be granted."""
    core = member(election=ElectionState(2))
    for candidate in (2, 3, 2):
        effects = core.step(0, RequestReceived(1, VoteRequest(2, candidate, 0, 0, pre_vote=True)))
        assert effects.election is None
        assert effects.replies[0].response.granted  # type: ignore[union-attr]


def test_pre_votes_then_votes_then_leadership() -> None:
    core = member()
    effects = core.step(1.5, Timeout())
    assert isinstance(core.state, Prospective)
    assert effects.election is None
    assert [send.request for send in effects.sends] == [VoteRequest(0, 1, 0, 0, pre_vote=True)] * 2
    effects = respond(core, effects.sends[0], VoteResponse(ErrorCode.NONE, 0, None, granted=True), 1.6)
    assert isinstance(core.state, Candidate)
    assert effects.election == ElectionState(1, voted_for=1)
    assert [send.to for send in effects.sends] == [2, 3]
    respond(core, effects.sends[0], VoteResponse(ErrorCode.NONE, 1, None, granted=True), 1.7)
    assert isinstance(core.state, Candidate), "its own vote is not durable yet"
    effects = core.step(1.8, ElectionStateWritten(ElectionState(1, voted_for=1)))
    assert isinstance(core.state, Leader)
    assert [send.request for send in effects.sends] == [BeginQuorumEpochRequest(1, 1)] * 2


def test_a_candidate_requests_the_vote_of_a_peer_without_pre_vote() -> None:
    """KIP-996: if a voter does not know Vote version 2, the round of pre-votes is left out."""
    core = member()
    send = core.step(1.5, Timeout()).sends[0]
    core.step(1.5, RequestFailed(send.number, send.to, send.request, unsupported=True))
    assert isinstance(core.state, Candidate)
    assert core.epoch == 1


def test_a_voter_without_a_response_gets_the_request_again() -> None:
    """In the same election: a broken connection costs a voter a short pause, not an election timeout."""
    core = member()
    to_2, to_3 = core.step(1.5, Timeout()).sends
    effects = core.step(1.5, RequestFailed(to_2.number, 2, to_2.request))
    assert effects.deadline == pytest.approx(1.52)
    assert not effects.sends
    (again,) = core.step(effects.deadline, Timeout()).sends
    assert (again.to, again.request) == (2, to_2.request)
    respond(core, to_3, VoteResponse(ErrorCode.NONE, 0, None, granted=True), 1.6)
    assert isinstance(core.state, Candidate)
    core.step(1.6, RequestFailed(again.number, 2, again.request))
    assert core.state.request_at == math.inf, "that was about another election"
    vote = VoteRequest(1, 1, 0, 0)
    core.step(1.7, RequestFailed(again.number + 1, 2, vote))
    (again,) = core.step(1.8, Timeout()).sends
    assert (again.to, again.request) == (2, vote)
    for voter in (2, 3):
        respond(core, Send(again.number, voter, vote), VoteResponse(ErrorCode.NONE, 1, None, granted=False), 1.9)
    core.step(1.9, RequestFailed(again.number, 2, vote))
    assert core.state.backing_off
    assert core.state.request_at == math.inf


def test_one_that_is_cut_off_does_not_raise_its_epoch() -> None:
    """KIP-996: a partitioned voter cannot disrupt the quorum with ever higher epochs."""
    core = member(election=ElectionState(4))
    now = 0.0
    for _ in range(20):
        now += 2.0
        core.step(now, Timeout())
    assert core.epoch == 4


def test_a_lost_pre_vote_leads_back_to_the_leader() -> None:
    core = member(election=ElectionState(4, leader_id=2))
    sends = core.step(2.0, Timeout()).sends
    assert isinstance(core.state, Prospective)
    for send in sends:
        respond(core, send, VoteResponse(ErrorCode.NONE, 4, 2), 2.1)
    assert isinstance(core.state, Follower)
    assert core.leader_id == 2


def test_the_response_of_the_leader_is_enough_to_follow_it_again() -> None:
    """The leader was paused and is back. To wait for a second refusal would let its check-quorum time run out."""
    core = member(election=ElectionState(4, leader_id=2))
    to_leader, to_other = core.step(2.0, Timeout()).sends
    respond(core, to_other, VoteResponse(ErrorCode.NONE, 4, 2), 2.1)
    assert isinstance(core.state, Prospective)
    effects = respond(core, to_leader, VoteResponse(ErrorCode.NONE, 4, 2), 2.1)
    assert effects.transitions[0].why == "2 responded as the leader"
    assert [(send.to, type(send.request)) for send in effects.sends] == [(2, FetchRequest)]


def test_a_resigned_leader_is_not_followed_again() -> None:
    core = member(election=ElectionState(4, leader_id=2))
    to_leader, _ = core.step(2.0, Timeout()).sends
    respond(core, to_leader, VoteResponse(ErrorCode.NONE, 4, None), 2.1)
    assert isinstance(core.state, Prospective)


def test_a_prospective_voter_accepts_the_resignation_of_its_leader() -> None:
    """EndQuorumEpoch may come when a follower already seeks pre-votes: it must not wait for that leader again."""
    core = member(election=ElectionState(4, leader_id=2), log=log_of((4, 3)))
    core.step(2.0, Timeout())
    assert answer(core, EndQuorumEpochRequest(4, 2, (3, 1)), 2.1).error is ErrorCode.NONE
    sends = core.step(2.6, Timeout()).sends
    assert isinstance(core.state, Prospective)
    for send in sends:
        respond(core, send, VoteResponse(ErrorCode.NONE, 4, None), 2.7)
    assert isinstance(core.state, Unattached)


def without_its_resigned_leader() -> RaftCore:
    """A voter of epoch 4 whose vote is forgotten (Apache Kafka 3.9 writes none beside a leader). Leader 2 resigned, and
    no other voter granted its pre-vote.
    """
    core = member(election=ElectionState(4, leader_id=2), log=log_of((3, 3)))
    answer(core, EndQuorumEpochRequest(4, 2, (1, 3)), 0.1)
    effects = core.step(0.1, Timeout())
    for send in effects.sends:
        effects = respond(core, send, VoteResponse(ErrorCode.NONE, 4, None), 0.2)
    assert isinstance(core.state, Unattached)
    assert effects.election is None, "the disk still names leader 2"
    return core


def test_an_epoch_with_a_leader_gets_no_second_one_after_its_resignation() -> None:
    """Raft, election safety: at most one leader per epoch. Voter 3 was a candidate of epoch 4 too, and asks again."""
    core = without_its_resigned_leader()
    assert refusal(core, VoteRequest(4, 3, 3, 3), 0.3) == "LEADER_KNOWN"
    assert refusal(core, BeginQuorumEpochRequest(4, 3), 0.3) == "OTHER_LEADER"
    core.step(2.0, Timeout())
    assert isinstance(core.state, Prospective)
    assert refusal(core, VoteRequest(4, 3, 3, 3), 2.1) == "LEADER_KNOWN"
    core.step(4.0, Timeout())
    assert isinstance(core.state, Unattached)
    assert refusal(core, VoteRequest(4, 3, 3, 3), 4.1) == "LEADER_KNOWN"
    assert answer(core, VoteRequest(5, 3, 3, 4), 4.2).granted


def test_only_a_fetch_leads_back_to_a_leader_that_was_given_up() -> None:
    """Voter 3 may not know that leader 2 resigned, and a resigned leader of Apache Kafka still names itself."""
    core = without_its_resigned_leader()
    (fetch,) = core.step(1.0, Timeout()).sends
    for voter in (2, 3):
        respond(core, attrs.evolve(fetch, to=voter), FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 4, 2), 1.1)
        assert core.leader_id is None
    respond(core, attrs.evolve(fetch, to=2), FetchResponse(ErrorCode.NONE, 4, 2), 1.1)
    assert core.leader_id == 2


def test_one_that_seeks_votes_does_not_name_a_leader_that_resigned() -> None:
    """An observer, or a voter that granted the pre-vote, would follow it for a whole fetch timeout."""
    core = without_its_resigned_leader()
    core.step(2.0, Timeout())
    assert isinstance(core.state, Prospective)
    assert core.leader_id is None
    assert answer(core, FetchRequest(4, 9, 0, 0, 0.5), 2.1).leader_id is None


def test_the_refusal_of_a_resigned_leader_does_not_end_the_round() -> None:
    """Apache Kafka's resigned leader names itself when it refuses. The third voter may grant."""
    core = member(election=ElectionState(4, leader_id=2), log=log_of((3, 3)))
    answer(core, EndQuorumEpochRequest(4, 2, (1, 3)), 0.1)
    to_leader, to_other = core.step(2.0, Timeout()).sends
    respond(core, to_leader, VoteResponse(ErrorCode.NONE, 4, 2), 2.1)
    respond(core, to_other, VoteResponse(ErrorCode.NONE, 4, None, granted=True), 2.2)
    assert (type(core.state), core.epoch) == (Candidate, 5)


def test_one_that_stops_and_gives_up_its_leader_does_not_forget_it() -> None:
    """After the restart it would have a second vote in that epoch."""
    core = member(election=ElectionState(4, leader_id=2))
    core.step(0.0, ShutDown())
    effects = core.step(2.0, Timeout())
    assert isinstance(core.state, Unattached)
    assert effects.election is None


def test_a_resigned_voter_starts_an_election_after_its_timeout() -> None:
    """KIP-595: a resigned voter waits for one election timeout."""
    core = member(election=ElectionState(5, leader_id=1), log=log_of((5, 3)))
    deadline = core.step(0.0, Timeout()).deadline
    effects = core.step(1.5, Timeout())
    assert deadline <= 1.5
    assert (type(core.state), core.epoch) == (Prospective, 6)
    assert len(effects.sends) == 2


@pytest.mark.parametrize(
    "request_",
    [
        VoteRequest(MAX_EPOCH, 2, 0, 0),
        VoteRequest(MAX_EPOCH, 2, 0, 0, pre_vote=True),
        BeginQuorumEpochRequest(MAX_EPOCH, 2),
        EndQuorumEpochRequest(MAX_EPOCH, 2, (1,)),
    ],
)
def test_an_implausible_epoch_is_refused(request_: Request) -> None:
    """Epochs are int32: one request with the last epoch would make every later election impossible."""
    core = member(election=ElectionState(7))
    assert refusal(core, request_) == "IMPLAUSIBLE_EPOCH"
    assert answer(core, request_).error is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert core.epoch == 7
    (send,) = [send for send in core.step(3.0, Timeout()).sends if send.to == 2]
    respond(core, send, VoteResponse(ErrorCode.NONE, MAX_EPOCH, None), 3.1)
    assert core.epoch == 7


def test_a_voter_in_epoch_0_adopts_any_epoch() -> None:
    assert answer(member(election=ElectionState(7)), VoteRequest(7 + LONGEST_LEAP, 2, 0, 0)).granted
    assert answer(member(), VoteRequest(MAX_EPOCH, 2, 0, 0)).granted, "and a new one, which knows none"


@pytest.mark.parametrize("state", [ElectionState(MAX_EPOCH), ElectionState(MAX_EPOCH, leader_id=1)])
def test_after_the_last_epoch_there_is_no_election(state: ElectionState) -> None:
    """The node must not write an epoch that it could not read at its next start."""
    core = member(voters=(1,), election=state)
    effects = core.step(0.0, Timeout())
    while effects.fatal is None:
        assert core.epoch == MAX_EPOCH
        effects = core.step(effects.deadline, Timeout())
    assert effects.fatal == f"epoch {MAX_EPOCH} is the largest int32, so no election is possible"


def test_a_lost_election_is_followed_by_a_bounded_random_pause() -> None:
    """KIP-595: binary exponential back-off, up to controller.quorum.election.backoff.max.ms."""
    core = member()
    send = core.step(1.5, Timeout()).sends[0]
    sends = core.step(1.5, RequestFailed(send.number, send.to, send.request, unsupported=True)).sends
    for send in sends:
        effects = respond(core, send, VoteResponse(ErrorCode.NONE, 1, None), 2.0)
    assert 2.0 < effects.deadline <= 3.0
    core.step(effects.deadline, Timeout())
    assert isinstance(core.state, Prospective)
    assert core.state.retries == 1


def test_a_vote_for_an_older_epoch_does_not_count() -> None:
    core = member()
    send = core.step(1.5, Timeout()).sends[0]
    old = core.step(1.5, RequestFailed(send.number, send.to, send.request, unsupported=True)).sends[0]
    core.step(2.0, RequestReceived(1, VoteRequest(5, 2, 0, 0)))
    respond(core, old, VoteResponse(ErrorCode.NONE, 1, None, granted=True), 2.1)
    assert isinstance(core.state, Unattached)


def test_a_resigned_leader_has_no_vote_in_its_epoch() -> None:
    """KAFKA-10527: a restarted leader must not lead, or vote, in the same epoch again."""
    core = member(election=ElectionState(5, leader_id=1), log=log_of((5, 3)))
    assert isinstance(core.state, Resigned)
    assert refusal(core, VoteRequest(5, 2, 9, 4)) == "I_RESIGNED"
    core.step(10.0, Timeout())
    assert core.epoch == 6


def test_one_that_stops_neither_votes_nor_stands() -> None:
    core = member()
    core.step(0, ShutDown())
    assert refusal(core, VoteRequest(1, 2, 0, 0)) == "SHUTTING_DOWN"
    core.step(50, Timeout())
    assert isinstance(core.state, Unattached)


def test_one_that_stops_does_not_stand_without_pre_votes() -> None:
    core = member()
    send = core.step(1.5, Timeout()).sends[0]
    core.step(1.6, ShutDown())
    core.step(1.7, RequestFailed(send.number, send.to, send.request, unsupported=True))
    assert (type(core.state), core.epoch) == (Prospective, 0)


def test_three_members_elect_one_of_them() -> None:
    quorum = elected(2)
    assert {node.core.leader_id for node in quorum.nodes.values()} == {2}
    assert {node.core.high_watermark for node in quorum.nodes.values()} == {1}
