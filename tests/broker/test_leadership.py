"""The leader of a partition. The tests play its followers, the controller and the network."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kraft.broker.leadership import (
    Appended,
    Assignment,
    Conditions,
    Event,
    FollowerFetched,
    LagChecked,
    Leadership,
    LeadershipEffects,
    Proposal,
    ProposalRefused,
    Settled,
)
from kraft.wire.errors import ErrorCode, KafkaError

LAG_S = 30.0
LEADER, SECOND, THIRD = 1, 2, 3
REPLICAS = (LEADER, SECOND, THIRD)
NOW = 1_000_000.0


def leadership(
    *,
    replicas: tuple[int, ...] = REPLICAS,
    isr: tuple[int, ...] = REPLICAS,
    end_offset: int = 0,
    high_watermark: int = 0,
    min_isr: int = 1,
    active: Mapping[int, int] | None = None,
) -> Leadership:
    epochs = {LEADER: 10, SECOND: 20, THIRD: 30} if active is None else active
    conditions = Conditions(LEADER, LAG_S, epochs, min_isr)
    return Leadership(conditions, Assignment(replicas, isr, 5, 7), end_offset, high_watermark, NOW)


def fetched(replica_id: int, end_offset: int, *, epoch: int | None = None) -> FollowerFetched:
    return FollowerFetched(replica_id, replica_id * 10 if epoch is None else epoch, end_offset, 0)


def test_a_leader_without_followers_commits_its_appends() -> None:
    alone = leadership(replicas=(LEADER,), isr=(LEADER,), end_offset=3)
    assert alone.high_watermark == 3
    assert alone.step(NOW, Appended(5)) == LeadershipEffects(high_watermark=5)


def test_a_follower_joins_in_any_epoch_if_the_controller_names_none() -> None:
    """UpdateMetadata has the live brokers without their epochs; a Fetch of version 15 has the follower's."""
    leader = leadership(isr=(LEADER,), replicas=(LEADER, SECOND), active={LEADER: -1, SECOND: -1}, end_offset=3)
    leader.check(SECOND, 44)
    proposal = leader.step(NOW, fetched(SECOND, 3, epoch=44)).proposal
    assert proposal is not None
    assert [member for member, _ in proposal.isr] == [LEADER, SECOND]


def test_committed_records_are_on_all_in_sync_replicas() -> None:
    leader = leadership()
    assert leader.step(NOW, Appended(10)) == LeadershipEffects()
    assert leader.step(NOW, fetched(SECOND, 10)) == LeadershipEffects()
    assert leader.step(NOW, fetched(THIRD, 4)) == LeadershipEffects(high_watermark=4)
    assert leader.step(NOW, fetched(THIRD, 10)) == LeadershipEffects(high_watermark=10)


def test_a_new_leader_commits_nothing_before_every_member_has_fetched() -> None:
    leader = leadership(end_offset=10, high_watermark=6)
    leader.step(NOW, fetched(SECOND, 10))
    assert leader.high_watermark == 6


def test_a_follower_out_of_sync_does_not_hold_up_the_others() -> None:
    leader = leadership(isr=(LEADER, SECOND))
    leader.step(NOW, Appended(10))
    assert leader.step(NOW, fetched(SECOND, 10)) == LeadershipEffects(high_watermark=10)


def test_a_follower_that_is_about_to_join_is_waited_for() -> None:
    """Otherwise, with the leader alone in sync, a follower could never reach the high watermark and join."""
    leader = leadership(isr=(LEADER,))
    leader.step(NOW, Appended(10))
    assert leader.high_watermark == 10
    assert leader.step(NOW, fetched(SECOND, 10)).proposal is not None
    assert leader.pending is not None
    leader.step(NOW, ProposalRefused(leader.pending, ErrorCode.INELIGIBLE_REPLICA))
    assert leader.step(NOW, Appended(12)) == LeadershipEffects()
    assert leader.step(NOW + LAG_S + 1, Appended(14)) == LeadershipEffects(high_watermark=14)


def test_a_follower_that_lags_is_proposed_out() -> None:
    """``replica.lag.time.max.ms``. The high watermark waits for the follower until the controller agrees (KIP-497)."""
    leader = leadership()
    leader.step(NOW, Appended(10))
    leader.step(NOW + 1, fetched(SECOND, 10))
    later = NOW + LAG_S + 1
    assert leader.step(NOW + LAG_S, LagChecked()) == LeadershipEffects()
    effects = leader.step(later, LagChecked())
    assert effects.proposal == Proposal(5, 7, ((LEADER, -1), (SECOND, 20)))
    assert leader.high_watermark == 0
    assert leader.step(later, LagChecked()) == LeadershipEffects(), "one proposal at a time"
    assert leader.step(later, Settled(effects.proposal, (LEADER, SECOND), 8)) == LeadershipEffects(high_watermark=10)
    assert (leader.isr, leader.partition_epoch, leader.pending) == ((LEADER, SECOND), 8, None)


def test_a_follower_that_is_always_a_little_behind_does_not_lag() -> None:
    """A follower is caught up if it reaches the leader's log end of its previous fetch."""
    leader = leadership()
    now = NOW
    for end in range(10, 200, 10):
        now += LAG_S / 2
        leader.step(now, Appended(end))
        leader.step(now, fetched(SECOND, end - 10))
        leader.step(now, fetched(THIRD, end))
        assert leader.step(now, LagChecked()).proposal is None


def test_a_follower_that_has_all_that_is_committed_is_proposed_with_its_epoch() -> None:
    leader = leadership(isr=(LEADER, SECOND))
    leader.step(NOW, Appended(10))
    leader.step(NOW, fetched(SECOND, 8))
    assert leader.step(NOW, fetched(THIRD, 7)).proposal is None
    effects = leader.step(NOW, fetched(THIRD, 8))
    assert effects.proposal == Proposal(5, 7, ((LEADER, -1), (SECOND, 20), (THIRD, 30)))
    assert leader.maximal_isr == {LEADER, SECOND, THIRD}
    leader.step(NOW, fetched(SECOND, 10))
    assert leader.high_watermark == 8, "who may be in sync by now is waited for"


def test_a_proposed_replica_counts_until_the_response_is_known() -> None:
    """KIP-497: the controller may have applied a proposal whose response was lost."""
    leader = leadership(isr=(LEADER,))
    proposal = leader.step(NOW, fetched(SECOND, 0)).proposal
    assert proposal is not None
    later = NOW + LAG_S + 1
    leader.step(later, ProposalRefused(proposal, ErrorCode.REQUEST_TIMED_OUT))
    assert leader.step(later, Appended(10)) == LeadershipEffects()
    assert leader.step(later, ProposalRefused(proposal, ErrorCode.INELIGIBLE_REPLICA)) == LeadershipEffects(
        high_watermark=10
    )


def test_a_new_leader_adds_no_replica_to_the_isr_that_has_not_reached_its_epoch() -> None:
    leader = leadership(isr=(LEADER,), end_offset=10, high_watermark=10)
    assert leader.step(NOW, fetched(SECOND, 9)).proposal is None


@pytest.mark.parametrize("active", [{SECOND: 21}, {}], ids=["another incarnation", "fenced"])
def test_an_ineligible_replica_is_not_proposed(active: Mapping[int, int]) -> None:
    """KIP-841, KIP-903"""
    leader = leadership(isr=(LEADER,), active=active)
    assert leader.step(NOW, fetched(SECOND, 0)).proposal is None


def test_a_fetch_that_does_not_count() -> None:
    leader = leadership(replicas=(LEADER, SECOND), isr=(LEADER,), active={SECOND: 20})
    leader.check(SECOND, 20)
    leader.check(SECOND, -1)
    for replica, epoch, code in ((THIRD, 30, "UNKNOWN_LEADER_EPOCH"), (SECOND, 19, "NOT_LEADER_OR_FOLLOWER")):
        with pytest.raises(KafkaError) as caught:
            leader.check(replica, epoch)
        assert caught.value.code.name == code


def test_too_few_in_sync_replicas_commit_nothing() -> None:
    """KIP-966"""
    leader = leadership(isr=(LEADER,), min_isr=2)
    assert leader.step(NOW, Appended(10)) == LeadershipEffects()
    few = leadership(replicas=(LEADER,), isr=(LEADER,), min_isr=2)
    assert few.step(NOW, Appended(10)) == LeadershipEffects(high_watermark=10), (
        "there cannot be more than there are replicas"
    )


def test_conditions_apply_from_their_event_on() -> None:
    """``min.insync.replicas`` and the active brokers both limit the high watermark until they change."""
    leader = leadership(isr=(LEADER,), min_isr=2)
    leader.step(NOW, Appended(10))
    leader.step(NOW, fetched(SECOND, 4, epoch=19))
    epochs = {SECOND: 20, THIRD: 30}
    assert leader.step(NOW, Conditions(LEADER, LAG_S, epochs, 1)) == LeadershipEffects(high_watermark=10)
    with pytest.raises(KafkaError):
        leader.check(SECOND, 19)
    assert leader.step(NOW, Conditions(LEADER, LAG_S, {THIRD: 30}, 1)) == LeadershipEffects()
    leader.check(SECOND, 19)


def test_a_request_without_an_answer_is_made_again_as_it_was() -> None:
    leader = leadership(isr=(LEADER,))
    proposal = leader.step(NOW, fetched(SECOND, 0)).proposal
    assert proposal is not None
    assert leader.step(NOW, ProposalRefused(proposal, ErrorCode.REQUEST_TIMED_OUT)).proposal == proposal
    assert leader.step(NOW, ProposalRefused(proposal, ErrorCode.FENCED_LEADER_EPOCH)).proposal is None
    assert leader.pending == proposal, "until the metadata says what holds"
    leader.step(NOW, Assignment(REPLICAS, (LEADER, THIRD), 5, 8))
    assert (leader.pending, leader.isr) == (None, (LEADER, THIRD))
    assert leader.step(NOW, Settled(proposal, (LEADER, SECOND), 9)) == LeadershipEffects()
    assert leader.isr == (LEADER, THIRD)


def test_a_re_elected_leader_gives_its_followers_new_time() -> None:
    leader = leadership()
    leader.step(NOW, Appended(10))
    later = NOW + LAG_S * 2
    leader.step(later, Assignment(REPLICAS, REPLICAS, 6, 8))
    assert leader.epoch_start_offset == 10
    assert leader.step(later + LAG_S, LagChecked()).proposal is None
    assert leader.step(later + LAG_S + 1, LagChecked()).proposal is not None


@pytest.mark.parametrize(("leader_epoch", "high_watermark"), [(6, 100), (7, 80)])
def test_a_leader_that_missed_an_epoch_forgets_the_end_offsets_of_its_followers(
    leader_epoch: int, high_watermark: int
) -> None:
    """A follower truncates its log to that of a new leader (KIP-101). After a missed epoch 6, the second replica may
    have lost records that it reported in epoch 5. Its old end offset must not advance the high watermark.
    """
    leader = leadership()
    leader.step(NOW, Appended(100))
    leader.step(NOW, fetched(SECOND, 100))
    leader.step(NOW, fetched(THIRD, 80))
    leader.step(NOW, Assignment(REPLICAS, (LEADER, SECOND), leader_epoch, 9))
    assert leader.high_watermark == high_watermark
    assert set(leader.followers) == {SECOND, THIRD}
    leader.step(NOW, fetched(SECOND, 100))
    assert leader.high_watermark == 100


def test_replicas_come_and_go() -> None:
    leader = leadership(replicas=(LEADER, SECOND), isr=(LEADER, SECOND))
    leader.step(NOW, Assignment((LEADER, THIRD), (LEADER,), 5, 8))
    assert set(leader.followers) == {THIRD}
    assert leader.step(NOW, Appended(10)) == LeadershipEffects(high_watermark=10)


def test_the_metadata_has_the_replicas_after_a_completed_reassignment() -> None:
    """KIP-455: the last proposal of [1, 2] -> [1, 3] completes the reassignment.

    AlterPartition returns the ISR and the epochs, but not the replicas. The metadata then has the same partition epoch.
    ``Partition.makeLeader`` applies it unless its partition epoch is lower.
    """
    leader = leadership(isr=(LEADER, SECOND), high_watermark=10, end_offset=10)
    leader.step(NOW, fetched(SECOND, 10))
    proposal = leader.step(NOW, fetched(THIRD, 10)).proposal
    assert proposal is not None
    leader.step(NOW, Settled(proposal, (LEADER, THIRD), 8))
    leader.step(NOW, Assignment((LEADER, THIRD), (LEADER, THIRD), 6, 8))
    assert (leader.replicas, set(leader.followers), leader.leader_epoch) == ((LEADER, THIRD), {THIRD}, 6)
    leader.step(NOW, Appended(11))
    assert leader.step(NOW, fetched(THIRD, 11)) == LeadershipEffects(high_watermark=11), (
        "nobody waits for who was removed"
    )
    leader.step(NOW, Appended(12))
    effects = leader.step(NOW + LAG_S + 1, LagChecked())
    assert effects.proposal == Proposal(6, 8, ((LEADER, -1),)), "the controller fences proposals of former epochs"


def test_a_proposal_of_a_former_leader_epoch_is_given_up() -> None:
    """FENCED_LEADER_EPOCH is final (``Partition.handleAlterPartitionError``): no later response or metadata would end
    it.
    """
    leader = leadership(isr=(LEADER, SECOND))
    first = leader.step(NOW, fetched(THIRD, 0)).proposal
    assert first is not None
    leader.step(NOW, Settled(first, (LEADER, THIRD), 8))
    leader.step(NOW, fetched(SECOND, 0))
    assert leader.pending == Proposal(5, 8, ((LEADER, -1), (THIRD, 30), (SECOND, 20)))
    fenced = leader.pending
    leader.step(NOW, Assignment((LEADER, THIRD), (LEADER, THIRD), 6, 8))
    assert leader.pending is None
    assert leader.step(NOW, ProposalRefused(fenced, ErrorCode.FENCED_LEADER_EPOCH)) == LeadershipEffects()


def test_metadata_that_confirms_an_answer_leaves_the_next_proposal_pending() -> None:
    """The controller may still apply the proposal. Its members are then in sync."""
    leader = leadership(isr=(LEADER,))
    first = leader.step(NOW, fetched(SECOND, 0)).proposal
    assert first is not None
    leader.step(NOW, Settled(first, (LEADER, SECOND), 8))
    second = leader.step(NOW, fetched(THIRD, 0)).proposal
    leader.step(NOW, Assignment(REPLICAS, (LEADER, SECOND), 5, 8))
    assert leader.pending == second
    assert leader.maximal_isr == set(REPLICAS)


def test_older_metadata_than_the_answer_is_not_taken_back() -> None:
    """``Partition.makeLeader``: a lower partition epoch is stale."""
    leader = leadership(isr=(LEADER, SECOND))
    proposal = leader.step(NOW, fetched(THIRD, 0)).proposal
    assert proposal is not None
    leader.step(NOW, Settled(proposal, REPLICAS, 9))
    leader.step(NOW, Assignment((LEADER, SECOND), (LEADER, SECOND), 5, 8))
    assert (leader.replicas, leader.isr, leader.partition_epoch) == (REPLICAS, REPLICAS, 9)


def test_a_cancelled_reassignment_ends_the_proposal_that_would_have_completed_it() -> None:
    """KIP-455: the added replica is removed again, and the controller refuses a proposal of the earlier state."""
    leader = leadership(isr=(LEADER, SECOND))
    proposal = leader.step(NOW, fetched(THIRD, 0)).proposal
    assert proposal is not None
    leader.step(NOW, Assignment((LEADER, SECOND), (LEADER, SECOND), 6, 8))
    assert (leader.pending, leader.maximal_isr) == (None, {LEADER, SECOND})
    assert leader.step(NOW, ProposalRefused(proposal, ErrorCode.FENCED_LEADER_EPOCH)) == LeadershipEffects()
    leader.step(NOW, Appended(4))
    assert leader.step(NOW, fetched(SECOND, 4)) == LeadershipEffects(high_watermark=4)


def test_the_low_watermark_is_that_of_the_living() -> None:
    leader = leadership(active={SECOND: 20})
    leader.step(NOW, FollowerFetched(SECOND, 20, 10, 4))
    leader.step(NOW, FollowerFetched(THIRD, 30, 10, 2))
    assert leader.low_watermark(6) == 4
    assert leader.low_watermark(3) == 3
    assert leadership(replicas=(LEADER,), isr=(LEADER,)).low_watermark(3) == 3


class Replication(RuleBasedStateMachine):
    """One leader and two followers that may lose their logs. The controller also reassigns replicas and elects the
    leader again. Responses arrive late or never.
    """

    @initialize(min_isr=st.integers(1, 2))
    def start(self, min_isr: int) -> None:
        self.now = NOW
        self.ends = dict.fromkeys(REPLICAS, 0)  # the log end of each replica
        # The controller's state:
        self.replicas, self.isr, self.leader_epoch, self.partition_epoch = REPLICAS, REPLICAS, 0, 0
        self.adding: frozenset[int] = frozenset()
        self.removing: frozenset[int] = frozenset()
        self.epochs = {LEADER: 1, SECOND: 1, THIRD: 1}
        self.min_isr = min_isr
        self.metadata: list[tuple[Assignment, dict[int, int]]] = []
        self.asked: list[Proposal] = []
        self.answers: list[Event] = []
        conditions = Conditions(LEADER, LAG_S, dict(self.epochs), min_isr)
        self.leader = Leadership(conditions, Assignment(REPLICAS, REPLICAS, 0, 0), 0, 0, self.now)

    def step(self, event: Event) -> None:
        before = self.leader.high_watermark
        effects = self.leader.step(self.now, event)
        assert effects.high_watermark in (None, self.leader.high_watermark)
        assert self.leader.high_watermark >= before
        assert (effects.high_watermark is None) == (self.leader.high_watermark == before)
        if effects.proposal is not None:
            self.asked.append(effects.proposal)

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.ends[LEADER] += count
        self.step(Appended(self.ends[LEADER]))

    @rule(follower=st.sampled_from((SECOND, THIRD)), count=st.integers(0, 5))
    def fetch(self, follower: int, count: int) -> None:
        epoch = self.epochs.get(follower)
        if epoch is None:
            return
        try:
            self.leader.check(follower, epoch)
        except KafkaError:
            return
        self.step(FollowerFetched(follower, epoch, self.ends[follower], 0))
        self.ends[follower] = min(self.ends[follower] + count, self.ends[LEADER])

    @rule(seconds=st.integers(1, 40))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.step(LagChecked())

    @rule(follower=st.sampled_from((SECOND, THIRD)), kept=st.integers(0, 10))
    def restart(self, follower: int, kept: int) -> None:
        """Restart a follower. Its registration removes it from the ISR, and it may have lost records."""
        self.epochs[follower] = max(self.epochs.values()) + 1
        self.ends[follower] = min(self.ends[follower], kept)
        self._publish(tuple(each for each in self.isr if each != follower))

    @rule(to=st.sampled_from(((LEADER, SECOND), (LEADER, THIRD), REPLICAS)))
    def reassign(self, to: tuple[int, ...]) -> None:
        """Reassign the partition (KIP-455), which cancels an earlier reassignment. A new replica starts with an empty
        log.
        """
        self._cancel()
        self.adding = frozenset(to) - frozenset(self.replicas)
        self.removing = frozenset(self.replicas) - frozenset(to)
        self.replicas = tuple(each for each in REPLICAS if each in {*self.replicas, *to})
        self.ends.update(dict.fromkeys(self.adding, 0))
        self._publish(self.isr)

    @rule()
    def cancel(self) -> None:
        self._cancel()
        self._publish(self.isr)

    def _cancel(self) -> None:
        gone, self.adding, self.removing = self.adding, frozenset(), frozenset()
        self._remove(gone)

    def _remove(self, gone: frozenset[int]) -> None:
        """Remove replicas. The leader learns it by a new leader epoch."""
        if gone:
            self.replicas = tuple(each for each in self.replicas if each not in gone)
            self.isr = tuple(each for each in self.isr if each not in gone)
            self.leader_epoch += 1

    @rule()
    def elect(self) -> None:
        """Elect the leader again after it was away."""
        self.leader_epoch += 1
        self._publish(self.isr)

    def _publish(self, isr: tuple[int, ...]) -> None:
        """Publish the next metadata. A reassignment completes once all target replicas are in sync."""
        self.isr = isr
        if (self.adding or self.removing) and set(self.replicas) - self.removing <= set(isr):
            gone, self.adding, self.removing = self.removing, frozenset(), frozenset()
            self._remove(gone)
        self.partition_epoch += 1
        assignment = Assignment(self.replicas, self.isr, self.leader_epoch, self.partition_epoch)
        self.metadata.append((assignment, dict(self.epochs)))

    @precondition(lambda self: self.metadata)
    @rule()
    def replay(self) -> None:
        assignment, epochs = self.metadata.pop(0)
        self.step(assignment)
        self.step(Conditions(LEADER, LAG_S, epochs, self.min_isr))

    @precondition(lambda self: self.asked)
    @rule(heard=st.booleans(), answered=st.booleans())
    def decide(self, heard: bool, answered: bool) -> None:
        """Decide as the controller does. The request or its response may be lost."""
        proposal = self.asked.pop(0)
        answer: Event = ProposalRefused(proposal, ErrorCode.REQUEST_TIMED_OUT)
        if heard:
            answer = self._decision(proposal)
        self.answers.append(answer if answered else ProposalRefused(proposal, ErrorCode.REQUEST_TIMED_OUT))

    def _decision(self, proposal: Proposal) -> Event:
        if proposal.leader_epoch != self.leader_epoch:
            return ProposalRefused(proposal, ErrorCode.FENCED_LEADER_EPOCH)
        if proposal.partition_epoch != self.partition_epoch:
            return ProposalRefused(proposal, ErrorCode.INVALID_UPDATE_VERSION)
        if any(member not in self.replicas for member, _ in proposal.isr):
            return ProposalRefused(proposal, ErrorCode.INVALID_REQUEST)
        if any(epoch not in (-1, self.epochs[member]) for member, epoch in proposal.isr):
            return ProposalRefused(proposal, ErrorCode.INELIGIBLE_REPLICA)
        self._publish(tuple(member for member, _ in proposal.isr))
        return Settled(proposal, self.isr, self.partition_epoch)

    @precondition(lambda self: self.answers)
    @rule()
    def hear(self) -> None:
        self.step(self.answers.pop(0))

    @invariant()
    def what_is_committed_is_on_every_member_of_the_isr(self) -> None:
        if hasattr(self, "leader"):
            assert all(self.ends[member] >= self.leader.high_watermark for member in self.isr)

    @invariant()
    def one_question_at_a_time(self) -> None:
        if hasattr(self, "leader"):
            current = [each for each in self.asked if each == self.leader.pending]
            assert len(current) <= 1

    def teardown(self) -> None:
        """Without further faults every replica joins the ISR and all records are committed."""
        if not hasattr(self, "leader"):
            return
        for _ in range(8):
            while self.asked or self.answers or self.metadata:
                if self.asked:
                    self.decide(heard=True, answered=True)
                while self.answers:
                    self.hear()
                while self.metadata:
                    self.replay()
            for follower in (SECOND, THIRD):
                self.ends[follower] = self.ends[LEADER]
                self.fetch(follower, 0)
        assert set(self.isr) == set(self.leader.isr) == set(self.replicas) == set(self.leader.replicas)
        assert self.leader.high_watermark == self.ends[LEADER]


TestReplication = pytest.mark.no_cover(Replication.TestCase)
TestReplication.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
