"""Warnings about peers: once when they are new, again when they return, and never with every request."""

from __future__ import annotations

import logging

import attrs
import pytest

from kraft.config.listeners import Voter
from kraft.quorum.batches import leader_change_batch
from kraft.quorum.peer_warnings import MAX_KINDS, QUIET_S, REPEAT_S, PeerWarnings
from kraft.quorum.refusals import Refusal, RefusalReason, RequestSummary
from kraft.raft.events import LeaderChange, Reason, Verdict
from kraft.raft.messages import BeginQuorumEpochRequest, FetchRequest, VoteRequest
from tests.support.quorums import identity

VOTERS = tuple(Voter(node_id, f"node-{node_id}", 9093) for node_id in (1, 2, 3))


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> Clock:
    caplog.set_level(logging.INFO)
    return Clock()


@pytest.fixture
def warnings(clock: Clock) -> PeerWarnings:
    return PeerWarnings(identity(3, *VOTERS), clock)


def test_a_continuing_warning_is_logged_once_and_then_seldom(
    warnings: PeerWarnings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Thirty times a second for an hour."""
    refusal = Refusal(RequestSummary("Vote", 2, 7), RefusalReason.OTHER_CLUSTER)
    for number in range(30 * 3600 + 1):
        clock.now = 100.0 + number / 30
        warnings.note_refusal(refusal, "10.0.0.7")
    first, *others = caplog.messages
    assert first == "10.0.0.7: Vote of 2 in epoch 7 refused: it is for another cluster"
    assert others == [f"{first} ({int(REPEAT_S * 30)} times more)"] * int(3600 / REPEAT_S)


def test_each_peer_and_each_reason_is_news(warnings: PeerWarnings, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        warnings.note_refusal(Refusal(RequestSummary("Vote", 1, 7), RefusalReason.OTHER_CLUSTER), "10.0.0.7")
        warnings.note_refusal(Refusal(RequestSummary("Vote", 1, 7), RefusalReason.OTHER_VOTER), "10.0.0.7")
        warnings.note_refusal(Refusal(RequestSummary("Vote", 2, 7), RefusalReason.OTHER_VOTER), "10.0.0.8")
        warnings.note_refusal(Refusal(RequestSummary("Fetch", -1), RefusalReason.OTHER_LOG), "10.0.0.8")
    assert len(caplog.messages) == 4
    assert caplog.messages[-1] == "10.0.0.8: Fetch refused: it does not name the metadata partition alone"


def test_a_resolved_warning_is_logged_when_it_returns(
    warnings: PeerWarnings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings.warn("it", "it rains")
    clock.now += QUIET_S
    assert warnings.warn("it", "it rains")
    warnings.resolve("it")
    warnings.resolve("another")
    assert not warnings.warn("it", "it rains"), "what comes and goes does not fill the log"
    clock.now += QUIET_S - 1
    warnings.warn("it", "it rains")
    clock.now += 1
    assert warnings.warn("it", "it rains")
    assert caplog.messages == ["it rains", "it rains", "it rains (3 times more)"]


def test_a_flood_of_different_warnings_ends(
    warnings: PeerWarnings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MAX_KINDS + 50):
        warnings.warn(number, f"{number}")
    assert len(caplog.messages) == MAX_KINDS
    clock.now += QUIET_S
    assert warnings.warn("another", "another")


def test_an_election_is_no_warning(warnings: PeerWarnings, caplog: pytest.LogCaptureFixture) -> None:
    """Every verdict on a vote is logged, and refused fetches are not: there are many while the epoch has no leader."""
    for _ in range(2):
        warnings.note_verdict(Verdict(VoteRequest(5, 1, 0, 0), 1, False, Reason.SHORTER_LOG))
        warnings.note_verdict(Verdict(FetchRequest(5, 1, 0, 0, 0.5), 1, False, Reason.NOT_LEADER))
    assert caplog.messages == ["Vote of 1 in epoch 5 refused: its log is shorter than mine"] * 2


def test_voters_that_are_not_the_same_everywhere_are_named(
    warnings: PeerWarnings, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        warnings.note_verdict(Verdict(VoteRequest(5, 4, 0, 0), 4, False, Reason.NOT_A_VOTER))
        warnings.note_verdict(Verdict(BeginQuorumEpochRequest(5, 3), 3, False, Reason.FROM_MYSELF))
        warnings.check_leader(1, 4)
        warnings.check_leader(1, 2)
        warnings.check_leader(1, None)
    assert caplog.messages == [
        (
            "Vote of 4 in epoch 5 refused: it is not a voter; "
            "controller.quorum.voters must be the same everywhere, and is 1,2,3 here"
        ),
        "BeginQuorumEpoch of 3 in epoch 5 refused: it has my node id; is there another node with node.id=3?",
        "1 names 4 as the leader, which is not in controller.quorum.voters here (1,2,3)",
    ]


@pytest.mark.parametrize(
    "reason",
    [Reason.IMPLAUSIBLE_EPOCH, Reason.TOO_MANY_OBSERVERS, Reason.FROM_NOBODY],
    ids=lambda reason: reason.name,
)
def test_a_refusal_that_a_correct_quorum_never_has_is_a_warning(
    warnings: PeerWarnings, caplog: pytest.LogCaptureFixture, reason: Reason
) -> None:
    for epoch in (2**30, 2**31 - 1):
        warnings.note_verdict(Verdict(FetchRequest(epoch, 2, 0, 0, 0.5), 2, False, reason))
        warnings.note_verdict(Verdict(VoteRequest(epoch, 2, 0, 0), 2, False, reason))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"Fetch of 2 in epoch {2**30} refused: {reason.value}"),
        ("WARNING", f"Vote of 2 in epoch {2**30} refused: {reason.value}"),
    ]


def opening(epoch: int, *voters: int) -> bytes:
    return leader_change_batch(LeaderChange(epoch, 1, voters, voters), 0, 1000)


def test_a_leader_with_other_voters_is_detected_by_its_leader_change_record(
    warnings: PeerWarnings, caplog: pytest.LogCaptureFixture
) -> None:
    """KIP-595: a LeaderChange record has the voters. Those of earlier leaders are history."""
    warnings.check_voters(opening(4, 1, 2, 4) + opening(5, 3, 2, 1), 5)
    assert not caplog.messages
    for epoch in (6, 7):
        warnings.check_voters(opening(epoch, 1, 2, 4), epoch)
    warnings.check_voters(opening(8, 1, 2, 3, 4), 8)
    warnings.check_voters(opening(9, 1, 2, 3), 9)
    assert caplog.messages == [
        (
            "the voters of leader 1 of epoch 6 are 1,2,4, and controller.quorum.voters is 1,2,3 here: "
            "this node has no vote there"
        ),
        "the voters of leader 1 of epoch 8 are 1,2,3,4, and controller.quorum.voters is 1,2,3 here",
        "leader 1 of epoch 9 has the voters of this node again",
    ]
