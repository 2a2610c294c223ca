"""The states of partitions: asked for once, asked for again after a failure, and forgotten with their topics."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.share.effects import DeleteStates, InitializeStates
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.share.desk import GROUP, RETRY_S, ShareDesk, Sharer, T, U


def test_partitions_are_asked_for_once() -> None:
    desk = ShareDesk(t=2)
    one = Sharer(desk, "a")
    Sharer(desk, "b")
    one.beat()
    assert len(desk.state_requests) == 1


def test_an_answer_that_never_comes_is_asked_for_again() -> None:
    """``group.share.initialize.retry.interval.ms``: the coordinator that asked may have failed."""
    desk = ShareDesk(t=2)
    member = Sharer(desk, "m")
    desk.state_requests.clear()
    desk.pass_time(RETRY_S - 1)
    member.beat()
    assert desk.state_requests == []
    desk.pass_time(1)
    member.beat()
    (request,) = desk.answer_states()
    assert isinstance(request, InitializeStates)
    assert request.start_offsets == {T: {0: -1, 1: -1}}


def test_a_new_coordinator_asks_again_after_the_interval() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.restart()
    desk.state_requests.clear()
    member.beat()
    assert desk.state_requests == [], "the previous coordinator may just have asked"
    desk.pass_time(RETRY_S)
    member.beat()
    assert len(desk.state_requests) == 1


def test_a_refusal_is_asked_for_again_with_the_next_heartbeat() -> None:
    """``uninitializeShareGroupState``: after an error the partitions are not initializing any more."""
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.answer_states(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert desk.share_group.states.initializing == {}
    member.beat()
    assert len(desk.state_requests) == 1
    desk.settle_all(member)
    assert member.shared == {T: [0]}


def test_an_answer_that_cannot_be_noted_is_asked_for_again() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.may_write = False
    desk.answer_states()
    desk.may_write = True
    assert T not in desk.share_group.states.initialized
    desk.pass_time(RETRY_S)
    desk.settle_all(member)
    assert member.shared == {T: [0]}


def test_new_partitions_are_initialized_and_assigned() -> None:
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    desk.image = ShareDesk(t=3).image
    member.beat()
    (request,) = desk.answer_states()
    assert isinstance(request, InitializeStates)
    assert request.start_offsets == {T: {1: -1, 2: -1}}
    desk.settle_all(member)
    assert member.shared == {T: [0, 1, 2]}


def test_an_answer_for_a_group_that_is_gone_changes_nothing() -> None:
    desk = ShareDesk(t=1)
    Sharer(desk, "m")
    desk.core.shares.groups.clear()
    desk.answer_states()
    assert desk.core.shares.groups == {}


def test_an_answer_for_a_topic_that_is_gone_is_forgotten() -> None:
    desk = ShareDesk(t=1, u=1)
    member = Sharer(desk, "m", topics=["t", "u"])
    desk.image = ShareDesk(t=1).image
    desk.answer_states()
    desk.settle_all(member)
    assert member.shared == {T: [0]}
    assert U not in desk.share_group.states.initialized


def test_an_answer_for_a_topic_whose_deletion_was_noticed_is_forgotten() -> None:
    """Nothing would look at the states again before the next change of the topics."""
    desk = ShareDesk(t=1, u=1)
    member = Sharer(desk, "m", topics=["t", "u"])
    desk.image = ShareDesk(t=1).image
    member.beat()
    desk.answer_states()
    assert U not in desk.share_group.states.initialized


def empty_group_whose_states_are_deleted() -> ShareDesk:
    """The share coordinator has not answered yet."""
    desk = ShareDesk(t=1)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    desk.beat("m", -1)
    desk.send(DeleteGroupsRequest(groups_names=[GROUP]), 2)
    return desk


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_state_is_initialized_after_its_deletion(code: ErrorCode) -> None:
    """Requests may overtake each other. The group would note a state as initialized that is deleted."""
    desk = empty_group_whose_states_are_deleted()
    member = Sharer(desk, "n")
    member.beat()
    (request,) = desk.answer_states(code)
    assert isinstance(request, DeleteStates)
    member.beat()
    (request,) = desk.answer_states()
    assert isinstance(request, InitializeStates)
    desk.settle_all(member)
    assert member.shared == {T: [0]}


def test_a_new_coordinator_waits_for_the_deletions_of_the_one_before() -> None:
    desk = empty_group_whose_states_are_deleted()
    desk.restart()
    desk.state_requests.clear()
    member = Sharer(desk, "n")
    assert desk.state_requests == []
    desk.pass_time(RETRY_S)
    member.beat()
    assert len(desk.state_requests) == 1


@pytest.mark.parametrize("count", [150])
def test_many_partitions_are_one_record(count: int) -> None:
    desk = ShareDesk(t=count)
    member = Sharer(desk, "m")
    before = len(desk.written)
    desk.answer_states()
    assert len(desk.written) == before + 1
    member.beat()
    assert len(member.shared[T]) == count
