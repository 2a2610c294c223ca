"""Reconciliation under any order of heartbeats: a partition never has two owners, and the group always settles."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.coordinator.groups.consumer.group import ConsumerGroupState
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.consumer.desk import REBALANCE_S, ConsumerDesk, Member, T, assignment, image_of

NAMES = ["m1", "m2", "m3", "m4"]
actions = st.lists(
    st.tuples(st.sampled_from(["beat", "beat", "beat", "leave", "grow", "move"]), st.sampled_from(NAMES))
)


@given(actions)
@settings(max_examples=150, deadline=None)
def test_no_partition_has_two_owners_and_the_group_settles(steps: list[tuple[str, str]]) -> None:
    """KIP-848's safety and liveness. ``move`` loads the partition on another broker."""
    desk, size = ConsumerDesk(t=3), 3
    here: dict[str, Member] = {}
    for action, name in steps:
        if action == "grow":
            size += 1
            desk.image = image_of(t=size)
        elif action == "move":
            desk.restart()
        elif action == "leave" and name in here:
            assert desk.beat(name, -1).error_code == 0
            del here[name]
        elif name in here:
            here[name].beat()
        else:
            here[name] = Member(desk, name)
        owned = [partition for member in here.values() for partition in member.owned.get(T, [])]
        assert len(owned) == len(set(owned)), {each: member.owned for each, member in here.items()}
    if here:
        desk.settle_all(*here.values())
        assert sorted(p for member in here.values() for p in member.owned.get(T, [])) == list(range(size))
        assert desk.consumer_group.state is ConsumerGroupState.STABLE


def test_a_member_that_reports_no_partitions_may_still_own_them() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.beat("m2", 0)
    assert assignment(desk.beat("m1", 2)) == {T: [0]}
    assert desk.beat("m1", 2).member_epoch == 2
    assert desk.beat("m2", 3).assignment is None
    assert desk.beat("m1", 2, {T: [0]}).member_epoch == 3
    assert assignment(desk.beat("m2", 3)) == {T: [1]}


def test_a_new_coordinator_restarts_the_rebalance_timeout() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.beat("m2", 0)
    desk.beat("m1", 2, {T: [0, 1]})
    desk.restart()
    desk.pass_time(REBALANCE_S / 2)
    assert desk.beat("m1", 2, {T: [0, 1]}).error_code == 0
    desk.pass_time(REBALANCE_S / 2 + 1)
    assert desk.beat("m1", 2, {T: [0, 1]}).error_code == ErrorCode.UNKNOWN_MEMBER_ID
