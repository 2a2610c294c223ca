"""The rebalance: how long members have to join, which ones are removed, which one leads."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.group import GroupState
from kraft.coordinator.groups.join import NEW_MEMBER_JOIN_TIMEOUT_S
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import DELAY_S, REBALANCE_S, SESSION_S, Desk, subscription


@pytest.fixture
def desk() -> Desk:
    return Desk()


class TestInitialDelay:
    """``group.initial.rebalance.delay.ms`` (KIP-134)."""

    def test_the_first_member_waits_for_company(self, desk: Desk) -> None:
        token = desk.enter()
        desk.pass_time(DELAY_S - 0.5)
        assert token not in desk.answers
        desk.pass_time(0.5)
        assert desk.answers[token].generation_id == 1

    def test_each_arrival_stretches_it(self, desk: Desk) -> None:
        token = desk.enter()
        desk.pass_time(DELAY_S - 0.5)
        desk.enter()
        desk.pass_time(DELAY_S)
        assert token not in desk.answers
        desk.pass_time(0.5)
        assert token in desk.answers

    def test_not_beyond_the_rebalance_timeout(self, desk: Desk) -> None:
        token = desk.enter(rebalance_s=10)
        for _ in range(9):
            desk.pass_time(1)
            desk.enter(rebalance_s=10)
        desk.pass_time(0.5)
        assert token not in desk.answers
        desk.pass_time(0.5)
        assert len(desk.answers[token].members) == 10

    def test_an_id_that_is_not_used_yet_does_not_stretch_it(self, desk: Desk) -> None:
        token = desk.enter()
        desk.join()
        desk.pass_time(DELAY_S)
        assert token in desk.answers

    def test_zero_is_no_delay(self) -> None:
        desk = Desk(group_initial_rebalance_delay_s=0)
        desk.join()
        assert desk.answers[desk.enter()].error_code == ErrorCode.NONE

    def test_a_group_that_has_members_does_not_wait_it_out(self, desk: Desk) -> None:
        [leader] = desk.stable()
        token = desk.enter()
        assert desk.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        desk.join(leader)
        assert desk.answers[token].generation_id == 2


class TestGathering:
    def test_a_member_that_does_not_rejoin_in_the_rebalance_timeout_is_removed(self, desk: Desk) -> None:
        """KIP-62: the largest rebalance timeout of the members counts."""
        leader, follower = desk.stable(2)
        token = desk.join(leader)
        for _ in range(int(REBALANCE_S) // 5 - 1):
            desk.pass_time(5)
            assert desk.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        desk.pass_time(5)
        assert [each.member_id for each in desk.answers[token].members] == [leader]
        assert desk.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_a_silent_member_holds_the_others_up_for_its_session_only(self, desk: Desk) -> None:
        leader, _ = desk.stable(2)
        token = desk.join(leader)
        desk.pass_time(SESSION_S - 0.5)
        assert token not in desk.answers
        desk.pass_time(0.5)
        assert token in desk.answers

    def test_an_id_that_was_handed_out_is_waited_for(self, desk: Desk) -> None:
        """KIP-394: the member is about to join."""
        [leader] = desk.stable()
        member_id = desk.answers[desk.join()].member_id
        token = desk.join(leader)
        assert token not in desk.answers
        desk.join(member_id)
        assert len(desk.answers[token].members) == 2

    def test_a_lapsed_id_is_waited_for_no_longer(self, desk: Desk) -> None:
        [leader] = desk.stable()
        desk.join()
        token = desk.join(leader)
        desk.pass_time(SESSION_S)
        assert desk.answers[token].error_code == ErrorCode.NONE

    def test_a_parked_member_needs_no_heartbeat(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        token = desk.join(leader)
        for _ in range(11):
            desk.pass_time(5)
            desk.heartbeat(follower, 1)
        assert leader in desk.group().members
        desk.join(follower)
        assert token in desk.answers

    def test_a_new_member_may_wait_five_minutes_for_its_first_generation(self, desk: Desk) -> None:
        """A client that times out and starts over leaves a member behind that no client uses any more."""
        [leader] = desk.stable(1, rebalance_s=3_600)
        token = desk.enter()
        for _ in range(int(NEW_MEMBER_JOIN_TIMEOUT_S) // 5):
            assert token not in desk.answers
            desk.heartbeat(leader, 1)
            desk.pass_time(5)
        assert desk.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID

    def test_another_leads_if_the_leader_stays_away(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        token = desk.join(follower, protocols=[("range", subscription("t", "u"))])
        desk.pass_time(SESSION_S)
        assert desk.answers[token].leader == follower
        assert leader not in desk.group().members

    def test_the_leader_stays_if_it_comes(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        desk.join(follower, protocols=[("range", subscription("t", "u"))])
        assert desk.answers[desk.join(leader)].leader == leader

    def test_a_static_member_keeps_its_place_until_its_session_ends(self, desk: Desk) -> None:
        """KIP-345: a rebalance does not remove a static member, even if it joins late."""
        tokens = [desk.join(instance="i", session_s=1_000), desk.enter()]
        desk.gather()
        static, dynamic = desk.settle(tokens)
        token = desk.join(dynamic, protocols=[("range", subscription("u"))])
        desk.pass_time(REBALANCE_S)
        assert desk.answers[token].leader == dynamic
        assert [each.member_id for each in desk.answers[token].members] == [static, dynamic]

    def test_if_only_absent_static_members_are_left_the_gathering_goes_on(self, desk: Desk) -> None:
        tokens = [desk.join(instance=each, session_s=1_000) for each in ("i", "j")]
        desk.gather()
        _, second = desk.settle(tokens)
        desk.leave((second, "j"))
        desk.pass_time(REBALANCE_S * 3)
        assert desk.group().state is GroupState.PREPARING_REBALANCE
        assert desk.answers[desk.join(instance="i")].generation_id == 2


class TestPendingSync:
    """A member that joined must send SyncGroup within the rebalance timeout."""

    def joined(self, desk: Desk) -> list[str]:
        tokens = [desk.enter(session_s=1_000) for _ in range(2)]
        desk.gather()
        return [desk.answers[token].member_id for token in tokens]

    def test_a_leader_that_never_assigns_is_left_behind(self, desk: Desk) -> None:
        leader, follower = self.joined(desk)
        token = desk.sync(follower, 1)
        desk.pass_time(REBALANCE_S)
        assert desk.answers[token].error_code == ErrorCode.REBALANCE_IN_PROGRESS
        assert list(desk.group().members) == [follower]
        assert desk.group().state is GroupState.PREPARING_REBALANCE
        assert leader not in desk.group().members

    def test_so_is_a_follower_of_a_stable_group(self, desk: Desk) -> None:
        leader, follower = self.joined(desk)
        desk.sync(leader, 1, {leader: b"l", follower: b"f"})
        desk.pass_time(REBALANCE_S - 0.5)
        assert desk.group().state is GroupState.STABLE
        desk.pass_time(0.5)
        assert list(desk.group().members) == [leader]

    def test_a_rebalance_in_between_starts_the_count_anew(self, desk: Desk) -> None:
        leader, follower = self.joined(desk)
        desk.sync(leader, 1, {leader: b"l", follower: b"f"})
        desk.pass_time(REBALANCE_S - 0.5)
        desk.join(leader, session_s=1_000)
        desk.pass_time(1)
        assert list(desk.group().members) == [leader, follower]

    def test_once_every_voter_has_fetched_nothing_is_due(self, desk: Desk) -> None:
        leader, follower = self.joined(desk)
        desk.sync(follower, 1)
        desk.sync(leader, 1, {leader: b"l", follower: b"f"})
        desk.pass_time(REBALANCE_S * 2)
        assert desk.group().state is GroupState.STABLE


def test_a_group_without_members_is_empty_in_the_log(desk: Desk) -> None:
    """The generation increases, the protocol type stays, protocol and leader are reset. The group is appended."""
    members = desk.stable(2)
    desk.leave(*((each, None) for each in members))
    desk.restart()
    group = desk.group()
    assert (group.state, group.generation, group.protocol_type) == (GroupState.EMPTY, 2, "consumer")
    assert (group.protocol_name, group.leader, group.members) == (None, None, {})
