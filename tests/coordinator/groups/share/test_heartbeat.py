"""ShareGroupHeartbeat: epochs, fencing, sessions, and the assignment of initialized partitions (KIP-932)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.coordinator.groups.share.group import ShareGroupState
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.metadata.image import ResourceType
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.groups.share.desk import GROUP, SESSION_S, ShareDesk, Sharer, T, U, shared


def test_a_partition_is_assigned_once_its_state_is_initialized() -> None:
    """KIP-932: the group coordinator initializes a share partition's state before it assigns the partition."""
    desk = ShareDesk(t=2)
    member = Sharer(desk, "m")
    assert (member.epoch, member.shared) == (2, {})
    member.beat()
    assert (member.epoch, member.shared) == (2, {}), "the share coordinator has not answered yet"
    (request,) = desk.answer_states()
    assert request.start_offsets == {T: {0: -1, 1: -1}}  # type: ignore[union-attr]
    member.beat()
    assert (member.epoch, member.shared) == (3, {T: [0, 1]})
    assert member.beat().assignment is None, "nothing has changed"


def test_members_share_a_partition() -> None:
    """KIP-932: the number of members may exceed the number of partitions, and every member has work."""
    desk = ShareDesk(t=1)
    members = [Sharer(desk, f"m{number}") for number in range(3)]
    desk.settle_all(*members)
    assert [member.shared for member in members] == [{T: [0]}] * 3
    assert desk.share_group.state() is ShareGroupState.STABLE


def test_a_member_that_leaves_gives_its_partitions_to_the_others() -> None:
    desk = ShareDesk(t=4)
    one, two = Sharer(desk, "a"), Sharer(desk, "b")
    desk.settle_all(one, two)
    assert sorted(one.shared[T] + two.shared[T]) == [0, 1, 2, 3]
    left = desk.beat("b", -1)
    assert (left.error_code, left.member_epoch) == (0, -1)
    desk.settle_all(one)
    assert one.shared == {T: [0, 1, 2, 3]}


def test_the_settings_of_the_group_go_first() -> None:
    """KIP-932: ``share.session.timeout.ms`` and its like are settings of the group, whose defaults the broker has."""
    desk = ShareDesk(t=1)
    values = {"share.session.timeout.ms": "50000", "share.heartbeat.interval.ms": "7000"}
    configs = desk.image.configs.set((ResourceType.GROUP, GROUP), values)
    desk.image = attrs.evolve(desk.image, configs=configs)
    assert desk.beat("m", 0).heartbeat_interval_ms == 7000
    desk.pass_time(49)
    assert "m" in desk.share_group.members
    desk.pass_time(1)
    assert not desk.share_group.members


def test_a_silent_member_is_removed_after_its_session() -> None:
    """``group.share.session.timeout.ms``."""
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    desk.pass_time(SESSION_S - 1)
    assert "m" in desk.share_group.members
    desk.pass_time(1)
    assert desk.share_group.state() is ShareGroupState.EMPTY
    assert desk.beat("m", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_restarts_the_session() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    for _ in range(5):
        desk.pass_time(SESSION_S - 1)
        member.beat()
    assert "m" in desk.share_group.members


def test_a_member_that_cannot_be_removed_now_is_removed_later() -> None:
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    desk.may_write = False
    desk.pass_time(SESSION_S + 10)
    assert "m" in desk.share_group.members
    desk.may_write = True
    desk.pass_time(1)
    assert not desk.share_group.members


def test_the_previous_epoch_is_accepted() -> None:
    """``throwIfShareGroupMemberEpochIsInvalid``: the response with the bumped epoch may have been lost."""
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.answer_states()
    assert desk.beat("m", 2).member_epoch == 3
    assert desk.beat("m", 2).member_epoch == 3
    assert member.epoch == 2


@pytest.mark.parametrize("epoch", [4, 2**31 - 1])
def test_a_greater_epoch_is_fenced(epoch: int) -> None:
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    answer = desk.beat("m", epoch)
    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert "abandon all its partitions and rejoin" in (answer.error_message or "")


def test_an_epoch_before_the_previous_one_is_fenced() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    for topics in (["u"], ["t"], ["u"]):
        member.beat(topics=topics)
    assert member.epoch == 5
    assert desk.beat("m", 3).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert desk.beat("m", 4).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("epoch", "what", "code"),
    [
        (1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
        (-1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
        (0, {"topics": None}, ErrorCode.INVALID_REQUEST),
        (0, {"topics": []}, ErrorCode.INVALID_REQUEST),
        (0, {"group_id": ""}, ErrorCode.INVALID_REQUEST),
        (0, {"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        (-2, {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_bad_heartbeat_of_no_group_leaves_nothing(epoch: int, what: dict[str, Any], code: ErrorCode) -> None:
    """``throwIfShareGroupHeartbeatRequestIsInvalid``, ``getOrMaybeCreateShareGroup``."""
    desk = ShareDesk(t=1)
    answer = desk.beat("m", epoch, **what)
    assert (answer.error_code, bool(answer.error_message)) == (code, True)
    assert (desk.core.shares.groups, desk.written, desk.state_requests) == ({}, [], [])


def test_an_empty_member_id_is_refused() -> None:
    assert ShareDesk().beat("", 0).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("epoch", [1, -1])
def test_an_unknown_member_is_refused(epoch: int) -> None:
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    assert desk.beat("x", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_no_further_member() -> None:
    """``group.share.max.size``. A known member may rejoin."""
    desk = ShareDesk(max_size=2, t=1)
    for member_id in ("a", "b"):
        Sharer(desk, member_id)
    assert desk.beat("c", 0).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert desk.beat("a", 0).error_code == ErrorCode.NONE


def test_a_batch_that_is_too_large_is_refused() -> None:
    desk = ShareDesk(t=1)
    desk.max_batch_bytes = 500
    answer = desk.beat("m", 0, topics=["t", "x" * 249, "y" * 249])
    assert (answer.error_code, desk.core.shares.groups) == (ErrorCode.UNKNOWN_SERVER_ERROR, {})


def test_without_enough_replicas_in_sync_nothing_is_decided() -> None:
    desk = ShareDesk(t=1)
    desk.may_write = False
    assert desk.beat("m", 0).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (desk.core.shares.groups, desk.state_requests) == ({}, [])


def test_a_new_subscription_changes_the_assignment() -> None:
    desk = ShareDesk(t=1, u=1)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    member.beat(topics=["t", "u"])
    desk.settle_all(member)
    assert member.shared == {T: [0], U: [0]}
    member.beat(topics=["u"])
    assert member.shared == {U: [0]}


def test_a_topic_that_appears_later_is_assigned() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m", topics=["t", "u"])
    desk.settle_all(member)
    assert member.shared == {T: [0]}
    desk.image = ShareDesk(t=1, u=2).image
    desk.settle_all(member)
    assert member.shared == {T: [0], U: [0, 1]}


def test_a_deleted_topic_is_not_assigned_any_more() -> None:
    desk = ShareDesk(t=1, u=1)
    member = Sharer(desk, "m", topics=["t", "u"])
    desk.settle_all(member)
    desk.image = ShareDesk(t=1).image
    desk.settle_all(member)
    assert member.shared == {T: [0]}
    assert U not in desk.share_group.states.initialized


@pytest.mark.parametrize("set_s", [0, 700, -700])
def test_the_interval_between_assignments_is_kept(set_s: int) -> None:
    """``group.share.assignment.interval.ms``: the next target waits, and heartbeats get the last one. The system's
    clock, whose time the record of an assignment has, may have been set since the start of a node.
    """
    desk = ShareDesk(interval_s=1.0, t=1)
    desk.clock_set_s = set_s
    first = Sharer(desk, "a")
    desk.answer_states()
    first.beat()
    assert (desk.share_group.epoch, desk.share_group.assignment_epoch) == (3, 2)
    desk.pass_time(1.0)
    first.beat()
    assert (first.epoch, first.shared) == (3, {T: [0]})


def test_a_response_waits_for_its_records() -> None:
    desk = ShareDesk(t=1)
    desk.is_followed = False
    token = desk.send_beat("m", 0)
    assert token not in desk.answers
    assert desk.state_requests == [], "the share coordinator hears of committed groups only"
    describe = ShareGroupDescribeRequest(group_ids=[GROUP])
    second = desk.send(describe, 1)
    desk.is_followed = True
    desk.commit_all()
    assert desk.answers[token].member_epoch == 2
    assert len(desk.state_requests) == 1
    assert second not in desk.answers or desk.answers[second].groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_group_survives_a_new_coordinator() -> None:
    desk = ShareDesk(t=2)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    before = desk.share_group
    desk.restart()
    assert desk.share_group == before
    member.beat()
    assert (member.epoch, member.shared) == (3, {T: [0, 1]})
    desk.pass_time(SESSION_S)
    assert not desk.share_group.members


def test_other_protocols_cannot_use_the_group() -> None:
    """Apache: requests of other types get GROUP_ID_NOT_FOUND, those of the classic protocol other errors."""
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    consumer = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="c", member_epoch=0, rebalance_timeout_ms=1)
    for message, version, code in (
        (consumer, 1, ErrorCode.GROUP_ID_NOT_FOUND),
        (OffsetCommitRequest(group_id=GROUP), 9, ErrorCode.GROUP_ID_NOT_FOUND),
        (desk.join_message("c"), 9, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ):
        refused = desk.ask(message, version)
        assert isinstance(refused, KafkaError)
        assert refused.code is code
    assert desk.ask(HeartbeatRequest(GROUP, 1, "m"), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    left = desk.ask(LeaveGroupRequest(GROUP, members=[MemberIdentity("m")]), 5)
    assert [each.error_code for each in left.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert "m" in desk.share_group.members
    assert desk.core.groups == {}


def test_a_share_member_cannot_join_another_group() -> None:
    desk = ShareDesk(t=1)
    desk.commit(1)
    assert desk.beat("m", 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert desk.core.shares.groups == {}


def test_a_describe_shows_members_and_epochs() -> None:
    desk = ShareDesk(t=2)
    member = Sharer(desk, "m", rack_id="r")
    desk.settle_all(member)
    (group,) = desk.ask(ShareGroupDescribeRequest(group_ids=[GROUP]), 1).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        3,
        3,
        "simple",
    )
    (described,) = group.members
    assert (described.member_id, described.rack_id, described.member_epoch) == ("m", "r", 3)
    (topic,) = described.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [0, 1])


def test_a_full_request_gets_the_assignment_again() -> None:
    """A client that got an error repeats its subscription, and has lost its assignment."""
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    assert shared(member.beat()) is None
    assert shared(member.beat(topics=["t"])) == {T: [0]}
