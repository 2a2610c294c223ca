"""DeleteGroups, AlterShareGroupOffsets and DeleteShareGroupOffsets of share groups (KIP-932)."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.coordinator.groups.consumer.group import FIRST_EPOCH
from kraft.coordinator.groups.share.effects import DeleteStates, InitializeStates
from kraft.coordinator.groups.share.group import StatePartitions, StateTopic
from kraft.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.groups.share.desk import GROUP, ShareDesk, Sharer, T, U

ALL = {T: StateTopic("t", frozenset({0, 1}))}


@pytest.fixture
def desk() -> ShareDesk:
    """A group whose only member has left. The states of both partitions of ``t`` are initialized."""
    desk = ShareDesk(t=2)
    member = Sharer(desk, "m")
    desk.settle_all(member)
    desk.beat("m", -1)
    assert desk.share_group.states == StatePartitions(initialized=ALL)
    return desk


def alter(offsets: dict[int, int], topic: str = "t", group_id: str = GROUP) -> AlterShareGroupOffsetsRequest:
    partitions = [AlterShareGroupOffsetsRequestPartition(*each) for each in offsets.items()]
    return AlterShareGroupOffsetsRequest(group_id, [AlterShareGroupOffsetsRequestTopic(topic, partitions)])


def forget(*topics: str) -> DeleteShareGroupOffsetsRequest:
    return DeleteShareGroupOffsetsRequest(GROUP, [DeleteShareGroupOffsetsRequestTopic(each) for each in topics])


class TestDeleteGroups:
    REQUEST = DeleteGroupsRequest(groups_names=[GROUP])

    def test_the_states_go_before_the_group(self, desk: ShareDesk) -> None:
        """``GroupCoordinatorService.deleteShareGroups``: first the share coordinator, then the tombstones."""
        token = desk.send(self.REQUEST, 2)
        assert desk.share_group.states == StatePartitions(deleting={T: "t"})
        assert token not in desk.answers
        (request,) = desk.answer_states()
        assert isinstance(request, DeleteStates)
        assert request.partitions == {T: frozenset({0, 1})}
        assert [each.error_code for each in desk.answers[token].results] == [0]
        assert desk.core.shares.groups == desk.core.shares.committed == {}
        desk.restart()
        assert desk.core.shares.groups == {}

    def test_the_states_that_a_member_needed_meanwhile_go_too(self) -> None:
        desk = ShareDesk(t=1, u=1)
        desk.settle_all(Sharer(desk, "m"))
        desk.beat("m", -1)
        token = desk.send(self.REQUEST, 2)
        deletion = desk.state_requests.pop()
        desk.settle_all(Sharer(desk, "n", topics=["u"]))
        desk.beat("n", -1)
        desk.state_requests.append(deletion)
        desk.answer_states()
        (request,) = desk.answer_states()
        assert isinstance(request, DeleteStates)
        assert U in request.partitions
        assert [each.error_code for each in desk.answers[token].results] == [0]

    def test_it_waits_for_the_states_that_are_being_initialized(self) -> None:
        """They would outlive the group. Then the share coordinator fences a new group, whose epochs are lower."""
        desk = ShareDesk(t=1)
        desk.beat("m", 0)
        desk.beat("m", -1)
        refused = desk.ask(self.REQUEST, 2)
        assert [each.error_code for each in refused.results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        desk.answer_states()
        token = desk.send(self.REQUEST, 2)
        (request,) = desk.answer_states()
        assert isinstance(request, DeleteStates)
        assert [each.error_code for each in desk.answers[token].results] == [0]

    def test_a_group_with_members_stays(self, desk: ShareDesk) -> None:
        Sharer(desk, "n")
        assert desk.ask(self.REQUEST, 2).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
        assert desk.state_requests == []

    def test_a_member_that_joins_meanwhile_keeps_the_group(self, desk: ShareDesk) -> None:
        token = desk.send(self.REQUEST, 2)
        Sharer(desk, "n")
        desk.answer_states()
        assert desk.answers[token].results[0].error_code == ErrorCode.NON_EMPTY_GROUP
        assert "n" in desk.share_group.members

    def test_a_refused_deletion_is_repeated_by_the_client(self, desk: ShareDesk) -> None:
        """``shareGroupBuildPartitionDeleteRequest``: a retry asks for what the last one left in ``deleting``."""
        token = desk.send(self.REQUEST, 2)
        desk.answer_states(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert desk.answers[token].results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert desk.share_group.states.deleting == {T: "t"}
        again = desk.send(self.REQUEST, 2)
        (request,) = desk.answer_states()
        assert isinstance(request, DeleteStates)
        assert request.partitions == {T: frozenset({0, 1})}
        assert desk.answers[again].results[0].error_code == 0

    def test_a_deleted_topic_has_no_state_to_delete(self, desk: ShareDesk) -> None:
        desk.image = ShareDesk(u=1).image
        assert desk.ask(self.REQUEST, 2).results[0].error_code == 0
        assert desk.core.shares.groups == {}

    def test_a_new_coordinator_refuses_what_waits(self, desk: ShareDesk) -> None:
        token = desk.send(self.REQUEST, 2)
        assert token in desk.restart()

    def test_without_enough_replicas_in_sync_nothing_changes(self, desk: ShareDesk) -> None:
        desk.may_write = False
        assert desk.ask(self.REQUEST, 2).results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (desk.share_group.states, desk.state_requests) == (StatePartitions(initialized=ALL), [])

    def test_replicas_that_are_lost_meanwhile_refuse_the_deletion(self, desk: ShareDesk) -> None:
        token = desk.send(self.REQUEST, 2)
        desk.may_write = False
        desk.answer_states()
        assert desk.answers[token].code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert GROUP in desk.core.shares.groups


class TestAlterOffsets:
    def test_states_are_initialized_again(self, desk: ShareDesk) -> None:
        token = desk.send(alter({0: 7, 1: 9}), 0)
        (request,) = desk.answer_states()
        assert isinstance(request, InitializeStates)
        assert (request.start_offsets, request.state_epoch) == ({T: {0: 7, 1: 9}}, desk.share_group.epoch)
        (topic,) = desk.answers[token].responses
        assert (topic.topic_name, topic.topic_id) == ("t", T)
        assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, 0), (1, 0)]
        assert desk.share_group.states == StatePartitions(initialized=ALL)

    def test_a_topic_may_be_named_twice(self, desk: ShareDesk) -> None:
        """``alterShareGroupOffsets`` gathers the offsets of a topic (``computeIfAbsent``)."""
        message = alter({0: 7}, group_id=GROUP)
        message.topics += alter({1: 9}).topics
        desk.send(message, 0)
        (request,) = desk.answer_states()
        assert isinstance(request, InitializeStates)
        assert request.start_offsets == {T: {0: 7, 1: 9}}

    def test_a_new_group_is_created(self) -> None:
        """``alterShareGroupOffsets``: the group is created if it does not exist."""
        desk = ShareDesk(t=2)
        desk.send(alter({1: 5}), 0)
        desk.answer_states()
        assert desk.share_group.states.initialized == {T: StateTopic("t", frozenset({1}))}
        assert desk.share_group.epoch == FIRST_EPOCH
        member = Sharer(desk, "m")
        (request,) = desk.answer_states()
        assert isinstance(request, InitializeStates)
        assert request.start_offsets == {T: {0: -1}}, "an offset that was set stays"
        desk.settle_all(member)
        assert member.shared == {T: [0, 1]}

    def test_an_unknown_partition_has_its_own_error(self, desk: ShareDesk) -> None:
        token = desk.send(alter({0: 7, 2: 7, -1: 7}), 0)
        desk.answer_states()
        codes = [(each.partition_index, each.error_code) for each in desk.answers[token].responses[0].partitions]
        assert codes == [
            (0, 0),
            (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]

    @pytest.mark.parametrize(("topic", "offsets"), [("x", {0: 1}), ("t", {5: 1}), ("t", {})])
    def test_nothing_to_alter_writes_nothing(self, desk: ShareDesk, topic: str, offsets: dict[int, int]) -> None:
        written = len(desk.written)
        answer = desk.ask(alter(offsets, topic), 0)
        assert [each.error_code for each in answer.responses[0].partitions] == [3] * len(offsets)
        assert (len(desk.written), desk.state_requests) == (written, [])

    def test_an_error_of_the_share_coordinator_is_passed_on(self, desk: ShareDesk) -> None:
        token = desk.send(alter({0: 7}), 0)
        desk.answer_states(ErrorCode.FENCED_STATE_EPOCH)
        assert desk.answers[token].responses[0].partitions[0].error_code == ErrorCode.FENCED_STATE_EPOCH

    def test_states_are_not_altered_and_deleted_at_the_same_time(self, desk: ShareDesk) -> None:
        """The share coordinator may perform them in any order. A state that the group has noted would be deleted, and
        nobody would initialize it again.
        """
        for first, second in ((forget("t"), alter({0: 7})), (alter({0: 7}), forget("t"))):
            token = desk.send(first, 0)
            assert desk.ask(second, 0).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            desk.answer_states()
            assert desk.answers[token].responses[0].topic_name == "t"
            desk.send(alter({0: 7}), 0)
            desk.answer_states()

    def test_a_group_with_members_is_refused(self, desk: ShareDesk) -> None:
        Sharer(desk, "n")
        refused = desk.ask(alter({0: 7}), 0)
        assert isinstance(refused, KafkaError)
        assert refused.code is ErrorCode.NON_EMPTY_GROUP

    def test_a_group_of_another_type_is_refused(self) -> None:
        desk = ShareDesk(t=2)
        desk.commit(1)
        assert desk.ask(alter({0: 7}), 0).code is ErrorCode.GROUP_ID_NOT_FOUND


class TestDeleteOffsets:
    def test_the_states_of_a_topic_are_deleted(self, desk: ShareDesk) -> None:
        token = desk.send(forget("t"), 0)
        assert desk.share_group.states == StatePartitions(deleting={T: "t"})
        desk.answer_states()
        (topic,) = desk.answers[token].responses
        assert (topic.topic_name, topic.topic_id, topic.error_code) == ("t", T, 0)
        assert desk.share_group.states == StatePartitions()
        member = Sharer(desk, "m")
        desk.settle_all(member)
        assert member.shared == {T: [0, 1]}

    def test_a_failed_deletion_is_repeated(self, desk: ShareDesk) -> None:
        token = desk.send(forget("t"), 0)
        desk.answer_states(ErrorCode.NOT_COORDINATOR)
        assert desk.answers[token].responses[0].error_code == ErrorCode.NOT_COORDINATOR
        assert desk.share_group.states.deleting == {T: "t"}
        again = desk.send(forget("t"), 0)
        desk.answer_states()
        assert desk.answers[again].responses[0].error_code == 0

    @pytest.mark.parametrize("topic", ["x", "u"])
    def test_a_topic_without_a_state_has_its_own_error(self, topic: str) -> None:
        desk = ShareDesk(t=1, u=1)
        desk.send(alter({0: 1}), 0)
        desk.answer_states()
        answer = desk.ask(forget(topic), 0)
        assert [each.error_code for each in answer.responses] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    def test_an_unknown_group_is_refused(self) -> None:
        assert ShareDesk(t=1).ask(forget("t"), 0).code is ErrorCode.GROUP_ID_NOT_FOUND

    def test_a_group_with_members_is_refused(self, desk: ShareDesk) -> None:
        Sharer(desk, "n")
        assert desk.ask(forget("t"), 0).code is ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize("message", [alter({0: 1}), forget("t")])
def test_without_enough_replicas_in_sync_nothing_is_decided(desk: ShareDesk, message: Any) -> None:
    desk.may_write = False
    assert desk.ask(message, 0).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.share_group.states == StatePartitions(initialized=ALL)
