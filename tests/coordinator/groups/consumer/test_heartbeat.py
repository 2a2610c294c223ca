"""ConsumerGroupHeartbeat. The rules are those of KIP-848, and the codes those of ``GroupMetadataManager``."""

from __future__ import annotations

import attrs
import pytest

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.group import FIRST_EPOCH, ConsumerGroupState
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.metadata.image import ResourceType
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.consumer.desk import (
    GROUP,
    REBALANCE_S,
    SESSION_S,
    ConsumerDesk,
    Member,
    T,
    U,
    assignment,
    image_of,
)
from tests.coordinator.groups.desk import subscription
from tests.coordinator.groups.test_core import share_of_longest_step


def test_a_new_member_gets_all_partitions_at_epoch_2() -> None:
    """``ModernGroup``: a new group has epoch 1, and its first member raises it."""
    desk = ConsumerDesk(t=4)
    answer = desk.beat("m1", 0)
    assert (answer.error_code, answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (
        0,
        "m1",
        2,
        5000,
    )
    assert assignment(answer) == {T: [0, 1, 2, 3]}
    assert desk.consumer_group.state is ConsumerGroupState.STABLE
    assert assignment(desk.beat("m1", 2, {T: [0, 1, 2, 3]})) is None  # unchanged


def test_a_member_gives_partitions_up_before_another_gets_them() -> None:
    """KIP-848: the coordinator assigns a partition to a member once its former owner has revoked it."""
    desk = ConsumerDesk(t=4)
    desk.beat("m1", 0)
    second = desk.beat("m2", 0)
    assert (second.member_epoch, assignment(second)) == (3, {})
    told = desk.beat("m1", 2, {T: [0, 1, 2, 3]})
    assert (told.member_epoch, assignment(told)) == (2, {T: [0, 1]})
    assert desk.beat("m2", 3).assignment is None
    assert desk.beat("m1", 2, {T: [0, 1]}).member_epoch == 3
    assert assignment(desk.beat("m2", 3)) == {T: [2, 3]}
    assert desk.consumer_group.state is ConsumerGroupState.STABLE


def test_the_partitions_of_a_member_that_leaves_go_to_the_others() -> None:
    desk = ConsumerDesk(t=4)
    first, second = Member(desk, "m1"), Member(desk, "m2")
    desk.settle_all(first, second)
    left = desk.beat("m1", -1)
    assert (left.error_code, left.member_id, left.member_epoch) == (0, "m1", -1)
    desk.settle_all(second)
    assert second.owned == {T: [0, 1, 2, 3]}
    assert desk.beat("m1", first.epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_member_leaves_an_empty_group() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.beat("m1", -1)
    assert (desk.consumer_group.state, desk.consumer_group.epoch) == (ConsumerGroupState.EMPTY, 3)
    assert desk.beat("m2", 0).member_epoch == 4


@pytest.mark.parametrize(
    ("what", "version", "code"),
    [
        ({"member_id": ""}, 1, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, 1, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, 1, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, 1, ErrorCode.INVALID_REQUEST),
        ({"owned": {T: [0]}}, 1, ErrorCode.INVALID_REQUEST),
        ({"epoch": -3}, 1, ErrorCode.INVALID_REQUEST),
        ({"epoch": -2}, 1, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, 1, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"epoch": 1}, 1, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, 1, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_id": ""}, 0, ErrorCode.NONE),
    ],
)
def test_bad_requests_are_refused(what: dict[str, object], version: int, code: ErrorCode) -> None:
    """``throwIfConsumerGroupHeartbeatRequestIsInvalid``; KIP-1082: since version 1 the client chooses its id."""
    desk = ConsumerDesk()
    fields = {"member_id": "m1", "epoch": 0, **what}
    answer = desk.beat(version=version, **fields)  # type: ignore[arg-type]
    assert answer.error_code == code, answer.error_message
    assert bool(answer.error_message) == bool(code)
    assert bool(desk.written) == (code == ErrorCode.NONE)


def test_a_request_may_repeat_the_previous_epoch() -> None:
    """KIP-848: the response with the new epoch may be lost. The member must own no other than its partitions."""
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.image = image_of(t=3)
    assert desk.beat("m1", 2, {T: [0, 1]}).member_epoch == 3
    assert desk.beat("m1", 2, {T: [0, 1]}).member_epoch == 3
    for epoch, owned in ((2, None), (2, {U: [0]}), (4, {T: [0]})):
        assert desk.beat("m1", epoch, owned).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_fenced_member_joins_again_at_once() -> None:
    """KIP-848: a fenced member "abandons all its partitions and rejoins with the same member id and the epoch 0"."""
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.image = image_of(t=3)
    assert desk.beat("m1", 2, {T: [0, 1]}).member_epoch == 3
    assert desk.beat("m1", 7).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    answer = desk.beat("m1", 0, {})
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 3)
    (assigned,) = answer.assignment.topic_partitions
    assert assigned.partitions == [0, 1, 2]


def test_a_member_may_repeat_its_first_request() -> None:
    desk = ConsumerDesk(t=1)
    assert desk.beat("m1", 0).member_epoch == desk.beat("m1", 0).member_epoch == 2


def test_new_partitions_and_new_topics_are_assigned() -> None:
    """KIP-848: the group epoch rises when the metadata of a subscribed topic changes."""
    desk = ConsumerDesk(t=1)
    member = Member(desk, "m1", topics=["t", "u"])
    assert member.owned == {T: [0]}
    desk.image = image_of(t=2, u=1, v=5)
    desk.settle_all(member)
    assert (member.owned, member.epoch) == ({T: [0, 1], U: [0]}, 3)
    desk.image = image_of(t=2, v=5)
    desk.settle_all(member)
    assert (member.owned, member.epoch) == ({T: [0, 1]}, 4)


def test_a_change_of_other_topics_changes_no_epoch() -> None:
    desk = ConsumerDesk(t=1)
    member = Member(desk, "m1")
    desk.image = image_of(t=1, u=1)
    member.beat()
    assert (member.epoch, len(desk.written)) == (2, 5)


def test_a_silent_member_is_fenced_after_its_session_timeout() -> None:
    desk = ConsumerDesk(t=2)
    first, second = Member(desk, "m1"), Member(desk, "m2")
    desk.settle_all(first, second)
    desk.pass_time(SESSION_S - 1)
    first.beat()
    desk.pass_time(2)
    assert set(desk.consumer_group.members) == {"m1"}
    desk.settle_all(first)
    assert first.owned == {T: [0, 1]}


def test_a_member_that_does_not_revoke_is_fenced_after_its_rebalance_timeout() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.beat("m2", 0)
    desk.beat("m1", 2, {T: [0, 1]})
    for _ in range(4):
        desk.pass_time(REBALANCE_S / 4 - 0.1)
        assert desk.beat("m1", 2, {T: [0, 1]}).error_code == 0
        desk.beat("m2", 3)
    desk.pass_time(1)
    assert desk.beat("m1", 2, {T: [0, 1]}).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert assignment(desk.beat("m2", 3)) == {T: [0, 1]}


def test_a_full_group_refuses_new_members() -> None:
    desk = ConsumerDesk(max_size=1, t=1)
    desk.beat("m1", 0)
    assert desk.beat("m2", 0).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert desk.beat("m1", 0).error_code == 0


def test_a_refused_request_leaves_nothing_behind() -> None:
    """A batch above max.message.bytes, or too few replicas in sync."""
    desk = ConsumerDesk(t=4)
    desk.beat("m1", 0)
    group, written = desk.consumer_group, len(desk.written)
    desk.max_batch_bytes = 300
    assert desk.beat("m2", 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    desk.may_write = False
    assert desk.beat("m2", 0).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (desk.consumer_group, len(desk.written)) == (group, written)
    assert desk.beat("m1", 2, {T: [0, 1, 2, 3]}).error_code == 0  # appends nothing


def test_a_member_is_fenced_once_its_removal_can_be_appended() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.may_write = False
    desk.pass_time(SESSION_S + 5)
    assert desk.consumer_group.members
    desk.may_write = True
    desk.pass_time(2)
    assert not desk.consumer_group.members


def test_a_member_that_heartbeats_and_does_not_revoke_is_fenced_once_its_removal_can_be_appended() -> None:
    """``CoordinatorRuntime`` schedules a timer again whose write failed."""
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0)
    desk.beat("m2", 0)
    desk.beat("m1", 2, {T: [0, 1]})
    desk.may_write = False
    for _ in range(4):
        desk.pass_time(REBALANCE_S / 4 + 1)
        assert desk.beat("m1", 2, {T: [0, 1]}).error_code == 0  # appends nothing
        desk.beat("m2", 3)
    desk.may_write = True
    desk.pass_time(2)
    assert desk.beat("m1", 2, {T: [0, 1]}).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert assignment(desk.beat("m2", 3)) == {T: [0, 1]}


def test_a_coordinator_whose_clock_is_behind_goes_on_at_once() -> None:
    """The log has timestamps of the future then: of the last assignment, and of the last search."""
    desk = ConsumerDesk(interval_s=1.0, t=4, u=2)
    desk.now = 1_000_000.0
    first, second = Member(desk, "m1"), Member(desk, "m2", subscribed_topic_regex="u")
    desk.resolve()
    desk.pass_time(2)
    desk.settle_all(first, second)
    desk.now -= 3600
    desk.restart()
    desk.beat("m4", 0, subscribed_topic_regex="t.*")
    Member(desk, "m3", topics=["t"])
    desk.resolve()
    desk.pass_time(2)
    desk.settle_all(first, second)
    assert desk.consumer_group.target["m3"]
    assert set(desk.consumer_group.regexes) == {"u", "t.*"}


def test_another_coordinator_continues_the_group() -> None:
    """The records have the whole state: epochs, target, partitions. Sessions start again."""
    desk = ConsumerDesk(t=4)
    first, second = Member(desk, "m1"), Member(desk, "m2")
    first.beat()  # m1 revokes
    before = desk.consumer_group
    desk.restart()
    assert desk.consumer_group == before
    desk.settle_all(first, second)
    assert (first.owned, second.owned) == ({T: [0, 1]}, {T: [2, 3]})


def test_a_static_member_returns_to_its_partitions() -> None:
    """KIP-848: a static member leaves with epoch -2 and keeps its partitions. It returns with another member id."""
    desk = ConsumerDesk(t=2)
    first, second = Member(desk, "m1", instance_id="i"), Member(desk, "m2")
    desk.settle_all(first, second)
    owned, epoch = first.owned, desk.consumer_group.epoch
    left = desk.beat("m1", -2, instance_id="i")
    assert (left.error_code, left.member_epoch) == (0, -2)
    assert desk.beat("m3", 0, instance_id="i").member_epoch == epoch
    assert desk.consumer_group.static_members["i"] == "m3"
    assert set(desk.consumer_group.members) == {"m2", "m3"}
    assert {each: set(epochs) for each, epochs in desk.consumer_group.members["m3"].assigned.items()} == {
        each: set(partitions) for each, partitions in owned.items()
    }
    assert desk.beat("m1", first.epoch, instance_id="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert desk.beat("m3", epoch, instance_id="j").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_session_of_a_returned_static_members_old_id_is_forgotten() -> None:
    """Otherwise its deadline stays in the past, and the driver steps the coordinator without a pause."""
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0, instance_id="i")
    desk.beat("m1", -2, instance_id="i")
    desk.pass_time(SESSION_S - 1)
    desk.beat("m2", 0, instance_id="i")
    desk.pass_time(2)  # asserts that a deadline that has passed moves
    assert list(desk.consumer_group.members) == ["m2"]


def test_a_second_static_member_with_the_same_instance_id_must_wait() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0, instance_id="i")
    assert desk.beat("m2", 0, instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID


def test_a_member_that_changes_its_instance_id_leaves_the_former_one_free() -> None:
    desk = ConsumerDesk(t=4)
    desk.beat("m1", 0, instance_id="a")
    assert desk.beat("m1", 0, instance_id="b").error_code == ErrorCode.NONE
    assert dict(desk.consumer_group.static_members) == {"b": "m1"}
    assert desk.beat("m1", -1, instance_id="b").error_code == ErrorCode.NONE
    assert desk.beat("m2", 0, instance_id="a").error_code == ErrorCode.NONE


def test_a_static_member_that_does_not_return_is_fenced() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0, instance_id="i")
    desk.beat("m1", -2, instance_id="i")
    desk.pass_time(SESSION_S + 1)
    assert not desk.consumer_group.members
    assert not desk.consumer_group.static_members


def test_topics_without_a_subscription_are_revoked() -> None:
    desk = ConsumerDesk(t=1, u=1)
    member = Member(desk, "m1", topics=["t", "u"])
    told = desk.beat("m1", 2, {T: [0], U: [0]}, topics=["u"])
    assert assignment(told) == {U: [0]}
    assert (desk.beat("m1", 2, {U: [0]}).member_epoch, member.epoch) == (3, 2)


def test_a_response_waits_for_the_commit_of_its_records() -> None:
    desk = ConsumerDesk(t=1)
    desk.is_followed = False
    token = desk.send_beat("m1", 0)
    assert token not in desk.answers
    assert not desk.core.consumers.committed
    desk.commit_all()
    assert desk.answers[token].member_epoch == 2
    assert desk.core.consumers.committed == desk.core.consumers.groups


def test_most_members_choose_the_assignor() -> None:
    """KIP-848: the group uses the assignor that most members prefer, and the default if none has a preference."""
    desk = ConsumerDesk(t=2, u=2)
    members = [Member(desk, name, topics=["t", "u"], server_assignor="range") for name in ("m1", "m2")]
    desk.settle_all(*members)
    assert [member.owned for member in members] == [{T: [0], U: [0]}, {T: [1], U: [1]}]


def test_a_refusal_waits_until_the_records_before_it_are_committed() -> None:
    """No response rests on an uncommitted record: if the record is lost, the epoch of the refusal never existed."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    message = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m1", member_epoch=7)
    effects = desk.core.step(desk.now, CoordinatorRequest("token", message, 1))
    ((token, answer),) = effects.replies_once_committed
    assert (token, answer.error_code, effects.replies) == ("token", ErrorCode.FENCED_MEMBER_EPOCH, [])


def test_a_group_has_settings_of_its_own() -> None:
    """KIP-848: ``consumer.session.timeout.ms`` and ``consumer.heartbeat.interval.ms`` count from the next heartbeat."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    own = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "7000"}
    desk.image = attrs.evolve(desk.image, configs=desk.image.configs.set((ResourceType.GROUP, GROUP), own))
    assert desk.beat("m1", 2).heartbeat_interval_ms == 7000
    limits = {"consumer.heartbeat.interval.ms": (10_000, 15_000)}  # raised since then
    desk.core.settings = attrs.evolve(desk.settings, group_limits=limits)
    assert desk.beat("m1", 2).heartbeat_interval_ms == 10_000
    desk.pass_time(49)
    assert desk.consumer_group.members
    desk.pass_time(2)
    assert not desk.consumer_group.members


@pytest.mark.parametrize("set_s", [0, 700, -700])
def test_the_interval_between_assignments_is_kept(set_s: int) -> None:
    """``group.consumer.assignment.interval.ms``: the next target waits, and heartbeats get the last one. The system's
    clock, whose time the record of an assignment has, may have been set since the start of a node.
    """
    desk = ConsumerDesk(interval_s=1.0, t=2)
    desk.clock_set_s = set_s
    first, second = Member(desk, "m1"), Member(desk, "m2")
    assert (second.epoch, second.owned) == (2, {})
    first.beat()
    assert (first.epoch, first.owned) == (2, {T: [0, 1]})
    assert (desk.consumer_group.epoch, desk.consumer_group.state) == (3, ConsumerGroupState.ASSIGNING)
    desk.pass_time(1.0)
    desk.settle_all(first, second)
    assert (first.owned, second.owned) == ({T: [0]}, {T: [1]})


def test_the_interval_outlives_the_coordinator() -> None:
    """The record of the assignment epoch has its time."""
    desk = ConsumerDesk(interval_s=1.0, t=2)
    desk.beat("m1", 0)
    desk.restart()
    desk.beat("m2", 0)
    assert desk.consumer_group.assignment_epoch == 2
    desk.pass_time(1.0)
    desk.beat("m2", 2, {})
    assert desk.consumer_group.assignment_epoch == 3


def test_a_group_has_an_interval_of_its_own() -> None:
    desk = ConsumerDesk(interval_s=1.0, t=2)
    own = {"consumer.assignment.interval.ms": "0"}
    desk.image = attrs.evolve(desk.image, configs=desk.image.configs.set((ResourceType.GROUP, GROUP), own))
    desk.beat("m1", 0)
    desk.beat("m2", 0)
    assert desk.consumer_group.assignment_epoch == 3


def test_a_group_of_an_unknown_expression_keeps_its_first_epoch() -> None:
    """``GroupMetadataManager``: the epoch rises once the topics of the expression are known."""
    desk = ConsumerDesk(t=1)
    assert desk.beat("m1", 0, topics=None, subscribed_topic_regex="t.*").member_epoch == FIRST_EPOCH


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_no_step_of_a_long_subscription_is_a_large_part_of_it(protocol: str) -> None:
    """One loop runs the groups and the quorum. A request names as many topics as fit into it."""
    names = [f"topic-{number}" for number in range(20_000)]
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    message: object = ConsumerGroupHeartbeatRequest(GROUP, "m2", 0, None, None, 1000, names, topic_partitions=[])
    if protocol == "classic":
        message = desk.join_message("m2", protocols=[("range", subscription(*names))])
    effects = desk.core.new_effects()
    assert share_of_longest_step(desk.core.in_steps(desk.now, CoordinatorRequest(0, message, 1), effects)) < 0.2
    assert [answer.error_code for _, answer in effects.replies_once_committed] == [0]
