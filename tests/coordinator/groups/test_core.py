"""Loading and unloading a coordinator."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kraft.coordinator.core import (
    NO_DEADLINE,
    Committed,
    CoordinatorDeadlineReached,
    CoordinatorRequest,
    StoredRecord,
)
from kraft.coordinator.groups import records
from kraft.coordinator.groups.core import (
    Event,
    ExpireOffsets,
    ForgetTopics,
    GroupCoordinator,
)
from kraft.coordinator.groups.effects import GroupEffects
from kraft.coordinator.groups.group import GroupState
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.metadata.steps import Steps
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import GROUP, SESSION_S, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


class TestLoad:
    def test_members_come_back_and_their_generation_goes_on(self, desk: Desk) -> None:
        leader, follower = desk.stable(2)
        desk.pass_time(SESSION_S - 0.5)
        assert desk.restart() == []
        desk.pass_time(SESSION_S - 0.5)
        assert desk.heartbeat(leader, 1) == ErrorCode.NONE
        assert desk.answers[desk.sync(follower, 1)].assignment == follower.encode()

    def test_members_that_do_not_show_up_are_dropped(self, desk: Desk) -> None:
        desk.stable(2)
        desk.restart()
        assert desk.core.deadline == desk.now + SESSION_S
        desk.pass_time(SESSION_S)
        assert desk.group().state is GroupState.EMPTY

    def test_a_rebalance_under_way_is_forgotten(self, desk: Desk) -> None:
        """Only assignments are appended. Members of the previous generation find it unchanged and rejoin."""
        leader, follower = desk.stable(2)
        waiting = desk.join(leader)
        assert desk.restart() == [waiting]
        assert desk.heartbeat(follower, 1) == ErrorCode.NONE
        assert waiting not in desk.answers

    def test_handed_out_ids_are_forgotten(self, desk: Desk) -> None:
        member_id = desk.answers[desk.join()].member_id
        desk.restart()
        assert desk.answers[desk.join(member_id)].error_code == ErrorCode.UNKNOWN_MEMBER_ID

    def test_the_last_record_of_a_key_counts(self, desk: Desk) -> None:
        desk.commit(1)
        desk.commit(2)
        desk.commit(1, partition=1)
        desk.written.append(StoredRecord(records.offset_key(GROUP, "t", 1), None))
        desk.restart()
        assert desk.committed() == {("t", 0): 2}

    def test_records_of_another_kind_are_passed_over(self, desk: Desk) -> None:
        pairs = [(None, b"x"), (b"\0\x63\0\1x", b"y"), (records.offset_key("g", "t", 0), None)]
        desk.load(StoredRecord(*pair) for pair in pairs)
        assert not desk.core.groups

    @pytest.mark.parametrize("key", [records.group_key("g"), records.offset_key("g", "t", 0)])
    @pytest.mark.parametrize("value", [b"", b"\0\x09", b"\0\3\0"])
    def test_a_damaged_record_is_named_as_such(self, desk: Desk, key: bytes, value: bytes) -> None:
        with pytest.raises(DecodeError):
            desk.load([StoredRecord(key, value)])


class TestWaiting:
    def test_a_parked_join_is_let_go_of(self, desk: Desk) -> None:
        waiting = [desk.enter(), desk.send(desk.join_message(group_id="other", instance="i"), 9)]
        assert desk.restart() == waiting

    def test_a_parked_sync_is_let_go_of_too(self, desk: Desk) -> None:
        tokens = [desk.enter(), desk.enter()]
        desk.gather()
        waiting = desk.sync(desk.answers[tokens[1]].member_id, 1)
        assert desk.restart() == [waiting]


def test_an_idle_coordinator_wants_no_wake_up(desk: Desk) -> None:
    assert desk.core.deadline == NO_DEADLINE
    desk.commit(1)
    assert desk.core.deadline == NO_DEADLINE


def test_only_requests_of_groups_are_taken(desk: Desk) -> None:
    with pytest.raises(TypeError, match="MetadataRequest"):
        GroupCoordinator(desk.settings, str).step(0, CoordinatorRequest(1, MetadataRequest(), 0))


def share_of_longest_step(work: Steps[Any]) -> float:
    """Run all steps, and return the share of the longest one in all calls of functions. That of one step alone is 1."""
    calls = [0]

    def count(_: object, event: str, __: object) -> None:
        calls[-1] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        calls.extend(0 for _ in work)
    finally:
        sys.setprofile(None)
    return max(calls) / sum(calls)


@pytest.mark.no_cover
class TestSteps:
    """One loop runs the groups and the quorum. So no step of a large event is a large part of it."""

    @pytest.mark.parametrize(
        "kind", ["commit", "refused commit", "OffsetDelete", "DeleteGroups", "replay", "expiry", "deleted topics"]
    )
    def test_of_many_offsets(self, desk: Desk, kind: str) -> None:
        partitions = [OffsetCommitRequestPartition(index, 5) for index in range(5_000)]
        commit = OffsetCommitRequest(GROUP, topics=[OffsetCommitRequestTopic("t", partitions=partitions)])
        desk.is_followed = kind != "replay"
        if kind != "commit":
            desk.send(commit, 8)
        event: Event = CoordinatorRequest(0, commit, 8)
        if kind == "refused commit":
            desk.may_write = False
        elif kind == "replay":
            [effects] = desk.uncommitted
            event = Committed(effects.append)
        elif kind == "OffsetDelete":
            topic = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(index) for index in range(5_000)])
            event = CoordinatorRequest(0, OffsetDeleteRequest(GROUP, [topic]), 0)
        elif kind == "DeleteGroups":
            event = CoordinatorRequest(0, DeleteGroupsRequest([GROUP]), 2)
        elif kind == "expiry":
            event = ExpireOffsets(GROUP)
        elif kind == "deleted topics":
            event = ForgetTopics(GROUP, {"u"}.__contains__)
        assert share_of_longest_step(desk.core.in_steps(desk.now, event, GroupEffects())) < 0.1

    @pytest.mark.parametrize("kind", ["join", "sync", "assignment", "DescribeGroups", "LeaveGroup", "sessions", "load"])
    def test_of_many_members(self, desk: Desk, kind: str) -> None:
        """A thousand members are encoded and decoded at once."""
        tokens = [desk.join(instance=f"i{number}") for number in range(1_000)]
        event: Event = CoordinatorDeadlineReached()
        if kind == "join":
            desk.pass_time(desk.core.deadline - desk.now)  # ends the initial delay, which the joins have extended
            desk.now = desk.core.deadline
        else:
            desk.gather()
            joined = [desk.answers[token] for token in tokens]
            [leader] = [each.leader for each in joined if each.leader == each.member_id]
            assignments = [SyncGroupRequestAssignment(each.member_id, b"part") for each in joined]
            if kind == "sync":
                event = CoordinatorRequest(0, SyncGroupRequest(GROUP, 1, leader, assignments=assignments), 3)
            desk.is_followed = kind != "assignment"
            if kind != "sync":
                desk.sync(leader, 1, {each.member_id: b"part" for each in assignments})
            if kind == "assignment":
                [effects] = desk.uncommitted
                event = Committed(effects.append)
            elif kind == "DescribeGroups":
                event = CoordinatorRequest(0, DescribeGroupsRequest(groups=[GROUP]), 5)
            elif kind == "LeaveGroup":
                members = [MemberIdentity(each.member_id) for each in joined]
                event = CoordinatorRequest(0, LeaveGroupRequest(GROUP, members=members), 3)
            elif kind == "sessions":
                desk.now += SESSION_S
            elif kind == "load":
                assert share_of_longest_step(desk.core.load(desk.written)) < 0.5
                return
        assert share_of_longest_step(desk.core.in_steps(desk.now, event, GroupEffects())) < 0.5
