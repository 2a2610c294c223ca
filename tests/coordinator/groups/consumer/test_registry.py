"""The consumer groups of a partition beside its classic groups: administration, expiry, and a change of protocol."""

from __future__ import annotations

import pytest

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.admin import group_filter, listed, listed_consumers
from kraft.coordinator.groups.core import Event, ExpireOffsets
from kraft.coordinator.groups.effects import GroupEffects
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.consumer.desk import GROUP, ConsumerDesk, Member, T
from tests.coordinator.groups.desk import result

RETENTION_S = 7 * 24 * 3600


def names(desk: ConsumerDesk, **wanted: list[str]) -> list[tuple[str, str, str]]:
    chosen = result(group_filter(ListGroupsRequest(**wanted)))
    found = result(listed(desk.core.groups, chosen)) + result(listed_consumers(desk.core.consumers.committed, chosen))
    return [(each.group_id, each.group_state, each.group_type) for each in found]


def test_lists_state_and_type() -> None:
    """KIP-848: ListGroups 5 filters by type."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    assert names(desk) == names(desk, types_filter=["Consumer"]) == [(GROUP, "Stable", "consumer")]
    assert names(desk, types_filter=["classic"]) == names(desk, states_filter=["Empty"]) == []
    desk.beat("m2", 0)
    assert names(desk, states_filter=["reconciling"]) == [(GROUP, "Reconciling", "consumer")]
    desk.beat("m2", -1)
    assert names(desk, states_filter=["assigning"]) == [(GROUP, "Assigning", "consumer")]


def test_describes_epochs_members_and_assignments() -> None:
    desk = ConsumerDesk(t=2)
    desk.beat("m1", 0, rack_id="r")
    desk.beat("m2", 0)
    answer = desk.ask(ConsumerGroupDescribeRequest([GROUP, "another"]), 1)
    group, unknown = answer.groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor_name == "uniform"
    first, second = group.members
    assert (first.member_id, first.member_epoch, first.rack_id, first.member_type) == ("m1", 2, "r", 1)
    assert (first.client_id, first.client_host, first.subscribed_topic_names) == ("c", "/127.0.0.1", ["t"])
    held, target = first.assignment.topic_partitions, first.target_assignment.topic_partitions
    assert [(each.topic_id, each.topic_name, each.partitions) for each in held] == [(T, "t", [0, 1])]
    assert [each.partitions for each in target] == [[0]]
    assert (second.assignment.topic_partitions, second.target_assignment.topic_partitions[0].partitions) == ([], [1])
    assert (unknown.error_code, unknown.group_id) == (ErrorCode.GROUP_ID_NOT_FOUND, "another")


def test_clients_see_committed_changes_only() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.is_followed = False
    desk.send_beat("m2", 0)
    token = desk.send(ConsumerGroupDescribeRequest([GROUP]), 1)
    assert [each.member_id for each in desk.answers[token].groups[0].members] == ["m1"]


def test_deletes_an_empty_group_with_its_offsets() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.commit(7, member_id="m1", generation=1, version=9)

    def delete() -> int:
        code: int = desk.ask(DeleteGroupsRequest([GROUP]), 2).results[0].error_code
        return code

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    desk.beat("m1", -1)
    assert delete() == 0
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND
    assert (desk.committed(), desk.core.consumers.groups, desk.core.consumers.committed) == ({}, {}, {})
    desk.restart()
    assert (desk.core.consumers.groups, desk.core.groups) == ({}, {})


def empty_group_with_offsets() -> ConsumerDesk:
    desk = ConsumerDesk(t=1)
    assert [desk.commit(7, partition=each) for each in range(2)] == [0, 0]
    desk.beat("m1", 0)
    desk.beat("m1", -1)
    return desk


def effects_of(desk: ConsumerDesk, event: Event, writable_steps: int) -> GroupEffects:
    """Perform an event while replicas drop out of the ISR after some of its steps."""
    effects = desk.core.new_effects()
    for done, _ in enumerate(desk.core.in_steps(desk.now, event, effects), 1):
        desk.may_write = done < writable_steps
    return effects


@pytest.mark.parametrize("writable_steps", range(1, 8))
def test_a_deletion_during_which_replicas_drop_out_of_the_isr_is_whole_or_refused(writable_steps: int) -> None:
    """``KafkaApis.handleDeleteGroupsRequest`` answers for each group. An error that leaves the core would make the
    driver load the whole partition again.
    """
    desk = empty_group_with_offsets()
    effects = effects_of(desk, CoordinatorRequest("token", DeleteGroupsRequest([GROUP]), 2), writable_steps)
    [(_, response)] = effects.replies_once_committed
    is_refused = not effects.append
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE if is_refused else ErrorCode.NONE
    assert response.results[0].error_code == code
    assert (GROUP in desk.core.consumers.groups, len(desk.core.offsets.written(GROUP))) == (is_refused, 2 * is_refused)


@pytest.mark.parametrize("writable_steps", range(1, 8))
def test_a_group_that_cannot_be_deleted_during_its_expiry_goes_at_the_next_check(writable_steps: int) -> None:
    desk = empty_group_with_offsets()
    desk.now += RETENTION_S
    effects_of(desk, ExpireOffsets(GROUP), writable_steps)
    assert not desk.core.offsets.written(GROUP)
    desk.may_write = True
    desk.expire()
    assert not desk.core.consumers.groups


def test_offsets_of_subscribed_topics_cannot_be_deleted() -> None:
    """KIP-496: GROUP_SUBSCRIBED_TO_TOPIC."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    topics = [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)]) for name in ("t", "u")]
    answer = desk.ask(OffsetDeleteRequest(GROUP, topics), 0)
    assert [topic.partitions[0].error_code for topic in answer.topics] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0]


def test_offsets_expire_after_their_commit_unless_a_member_reads_the_topic() -> None:
    """Apache: the retention starts at the commit, and topics with a subscription are kept."""
    desk = ConsumerDesk(t=1, u=1)
    member = Member(desk, "m1", topics=["t", "u"])
    for topic in ("t", "u"):
        assert desk.commit(7, member_id="m1", generation=2, version=9, topic=topic) == 0
    desk.beat("m1", 2, {T: [0]}, topics=["t"])
    desk.now += RETENTION_S
    desk.expire()
    assert desk.committed() == {("t", 0): 7}
    desk.pass_time(0)
    assert not desk.consumer_group.members, "the session of the member has ended"
    assert member.epoch == 2
    desk.expire()
    assert (desk.committed(), desk.core.consumers.groups) == ({}, {})


def test_an_empty_group_expires_once_enough_replicas_are_in_sync() -> None:
    """The broker's task that expires offsets has nobody to refuse: it tries again after its interval."""
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.beat("m1", -1)
    desk.may_write = False
    desk.expire()
    assert list(desk.core.consumers.groups) == [GROUP]
    desk.may_write = True
    desk.expire()
    assert desk.core.consumers.groups == {}


def test_an_empty_group_changes_its_protocol() -> None:
    """Apache: a group without members gets the protocol of its next member, and keeps its offsets."""
    desk = ConsumerDesk(t=1)
    assert desk.commit(7) == 0  # a classic group without members
    desk.beat("m1", 0)
    assert (list(desk.core.groups), list(desk.core.consumers.groups)) == ([], [GROUP])
    joined = desk.answers[desk.join(protocol_type="connect")]
    assert joined.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    desk.beat("m1", -1)
    desk.stable()
    assert (list(desk.core.groups), desk.core.consumers.groups) == ([GROUP], {})
    assert desk.beat("m1", 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert desk.committed() == {("t", 0): 7}
    desk.restart()
    assert (list(desk.core.groups), desk.core.consumers.groups) == ([GROUP], {})


def test_the_offsets_of_an_expression_wait_for_its_first_search() -> None:
    """Before it nobody knows which topics the member reads."""
    desk = ConsumerDesk(t=1)
    member = Member(desk, "m1", subscribed_topic_regex="t.*")
    desk.resolve()
    desk.settle_all(member)
    assert desk.commit(5, member_id="m1", generation=member.epoch, version=9) == ErrorCode.NONE
    desk.now += RETENTION_S + 1
    desk.beat("m1", member.epoch, subscribed_topic_regex="t|u")
    desk.expire()
    assert desk.committed() == {("t", 0): 5}
    desk.beat("m1", member.epoch)
    desk.resolve()
    desk.expire()
    assert desk.committed() == {("t", 0): 5}
