"""The raft metrics, read from a quorum with scripted events."""

from __future__ import annotations

import math

import attrs
import pytest

from kraft.metrics import Registry
from kraft.quorum.metrics import STATES, QuorumMetrics
from kraft.quorum.refusals import Refusal, RefusalReason, RequestSummary
from kraft.raft.events import Effects, FetchedRecords, Reason, Transition, Verdict
from kraft.raft.messages import EpochEnd, LogSlice, VoteRequest
from kraft.raft.state import TRANSITIONS, Candidate, Follower, Leader, Prospective, State, Unattached

RAFT = "kafka.server:type=raft-metrics,name="


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@attrs.define
class Log:
    last_epoch: int = 0


@attrs.define
class Quorum:
    """The attributes of a quorum that the metrics read."""

    state: State = attrs.Factory(lambda: Unattached(0, math.inf))
    node_id: int = 1
    high_watermark: int = 0
    end_offset: int = 0
    busy_s: float = 0.0
    log: Log = attrs.Factory(Log)

    @property
    def leader_id(self) -> int | None:
        return self.state.leader_id

    @property
    def epoch(self) -> int:
        return self.state.epoch


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> Registry:
    return Registry(clock)


def leader(epoch: int) -> Leader:
    return Leader(epoch, 0, 1, frozenset({1}), {})


def test_every_state_has_a_name_and_one_of_them_holds(registry: Registry) -> None:
    assert set(STATES) == {state for pair in TRANSITIONS for state in pair}
    quorum = Quorum(Follower(3, 2, math.inf))
    QuorumMetrics(registry, quorum, is_voter=True)
    holds = [name for name in STATES.values() if registry.get(f"{RAFT}current-state,state={name}").value]
    assert holds == ["follower"]


def test_an_observer_is_described_as_one_in_any_state(registry: Registry) -> None:
    QuorumMetrics(registry, Quorum(), is_voter=False)
    assert registry.get(f"{RAFT}current-state,state=observer").value == 1


def test_the_metrics_read_from_the_quorum(registry: Registry) -> None:
    quorum = Quorum(Unattached(4, math.inf, voted_for=3), high_watermark=5, end_offset=7, log=Log(2))
    QuorumMetrics(registry, quorum, is_voter=True)
    names = ("current-leader", "current-vote", "current-epoch", "high-watermark", "log-end-offset", "log-end-epoch")
    assert [registry.get(RAFT + name).value for name in names] == [-1, 3, 4, 5, 7, 2]


def test_a_leader_has_voted_for_itself(registry: Registry) -> None:
    """``KafkaRaftMetrics``, current-vote: ``state.localIdOrThrow()`` of a leader and of a candidate."""
    quorum = Quorum(leader(4))
    QuorumMetrics(registry, quorum, is_voter=True)
    assert registry.get(RAFT + "current-vote").value == quorum.node_id
    quorum.state = Candidate(5, math.inf, voted_for=quorum.node_id)
    assert registry.get(RAFT + "current-vote").value == quorum.node_id


def test_commit_latency_is_from_the_append_to_the_high_watermark(registry: Registry, clock: Clock) -> None:
    quorum = Quorum(leader(1), end_offset=10)
    metrics = QuorumMetrics(registry, quorum, is_voter=True)
    assert math.isnan(registry.get(RAFT + "commit-latency-avg").value)
    for end_offset in (12, 15):
        quorum.end_offset, appended_at = end_offset, clock.now
        clock.now += 0.004
        metrics.note(Effects(), appended_at)
        clock.now += 0.006
    metrics.note(Effects(high_watermark=15))
    assert registry.get(RAFT + "commit-latency-avg").value == pytest.approx(15.0)
    assert registry.get(RAFT + "commit-latency-max").value == pytest.approx(20.0)
    assert registry.get(RAFT + "append-records-rate").value == pytest.approx(5 / 30)


def test_appends_of_a_deposed_leader_are_not_measured(registry: Registry, clock: Clock) -> None:
    quorum = Quorum(leader(1))
    metrics = QuorumMetrics(registry, quorum, is_voter=True)
    quorum.end_offset = 3
    metrics.note(Effects(), clock.now)
    quorum.state = Follower(2, 2, math.inf)
    clock.now += 1
    metrics.note(Effects(high_watermark=3))
    assert math.isnan(registry.get(RAFT + "commit-latency-avg").value)


def test_fetched_records_are_counted(registry: Registry) -> None:
    metrics = QuorumMetrics(registry, Quorum(Follower(1, 2, math.inf)), is_voter=True)
    metrics.note(Effects(append=FetchedRecords(LogSlice(5, (EpochEnd(1, 35),)))))
    assert registry.get(RAFT + "fetch-records-rate").value == pytest.approx(1.0)


def test_an_election_lasts_from_one_leader_to_the_next(registry: Registry, clock: Clock) -> None:
    quorum = Quorum(Follower(1, 2, math.inf))
    metrics = QuorumMetrics(registry, quorum, is_voter=True)
    states: tuple[State, ...] = (Prospective(1, 0.0, leader_id=2), Unattached(2, math.inf), leader(3))
    for state in states:
        quorum.state = state
        metrics.note(Effects())
        clock.now += 0.5
    assert registry.get(RAFT + "election-latency-avg").value == pytest.approx(500.0)
    assert metrics.new_leaders == 1


def test_votes_are_counted_by_their_reasons(registry: Registry) -> None:
    metrics = QuorumMetrics(registry, Quorum(), is_voter=True)
    refused = Verdict(VoteRequest(2, 3, 0, 0), 3, False, Reason.SHORTER_LOG)
    metrics.note_refusal(Refusal(RequestSummary("Fetch", 3), RefusalReason.OTHER_CLUSTER))
    metrics.note(Effects(verdicts=[refused, refused], transitions=[Transition("Follower", "Prospective", 1, "")]))
    name = "kraft.server:type=QuorumVerdicts,name=VerdictsPerSec,request=Vote,granted=false,reason=SHORTER_LOG"
    assert registry.get(name).value == 2
    name = "kraft.server:type=QuorumTransitions,name=TransitionsPerSec,before=Follower,after=Prospective"
    assert registry.get(name).value == 1
    name = "kraft.server:type=QuorumVerdicts,name=VerdictsPerSec,request=Fetch,granted=false,reason=OTHER_CLUSTER"
    assert registry.get(name).value == 1
