"""DescribeGroups, ListGroups, DeleteGroups, OffsetDelete."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.admin import group_filter, listed
from kraft.coordinator.groups.group import Group
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.desk import GROUP, Desk, result, subscription


@pytest.fixture
def desk() -> Desk:
    return Desk()


def described(desk: Desk, version: int = 6) -> DescribedGroup:
    [group] = desk.ask(DescribeGroupsRequest(groups=[GROUP]), version).groups
    assert isinstance(group, DescribedGroup)
    return group


class TestDescribe:
    def test_a_stable_group_shows_everything(self, desk: Desk) -> None:
        [member_id] = desk.stable()
        group = described(desk)
        assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
        [member] = group.members
        assert (member.member_id, member.client_id, member.client_host) == (member_id, "c", "/127.0.0.1")
        assert (member.member_metadata, member.member_assignment) == (subscription("t"), member_id.encode())

    def test_one_that_rebalances_shows_its_members_alone(self, desk: Desk) -> None:
        leader, _ = desk.stable(2)
        desk.join(leader)
        group = described(desk)
        assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
        assert [each.member_metadata for each in group.members] == [b"", b""]
        desk.gather()
        assert described(desk).group_state == "CompletingRebalance"

    def test_one_without_members_is_empty(self, desk: Desk) -> None:
        desk.commit(1)
        group = described(desk)
        assert (group.group_state, group.protocol_type, group.members) == ("Empty", "", [])

    @pytest.mark.parametrize(("version", "code"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
    def test_an_unknown_one_is_dead(self, desk: Desk, version: int, code: ErrorCode) -> None:
        """KIP-1043 added the code and the message."""
        group = described(desk, version)
        assert (group.group_state, group.error_code) == ("Dead", code)
        assert (group.error_message is None) == (version < 6)


class TestList:
    @pytest.mark.parametrize(
        ("states", "types", "found"),
        [
            ([], [], {"g", "simple"}),
            (["Stable"], [], {"g"}),
            (["empty", " STABLE "], [], {"g", "simple"}),
            (["Dead"], [], set()),
            ([], ["Classic"], {"g", "simple"}),
            ([], ["consumer"], set()),
            (["Empty"], ["classic"], {"simple"}),
        ],
    )
    def test_filters_by_state_and_type(self, desk: Desk, states: list[str], types: list[str], found: set[str]) -> None:
        """KIP-518 and KIP-848. The filters ignore case."""
        desk.stable()
        message = desk.join_message(group_id="simple")
        desk.send(message, 9)
        wanted = result(group_filter(ListGroupsRequest(states_filter=states, types_filter=types)))
        groups = result(listed(desk.core.groups, wanted))
        assert {each.group_id for each in groups} == found
        assert {each.group_type for each in groups} <= {"classic"}

    def test_a_long_name_of_a_filter_costs_more(self) -> None:
        """3,000 names of 32,000 characters fit into one request, and their lower case takes 50 ms and more."""
        assert list(group_filter(ListGroupsRequest(states_filter=["x" * 32_000], types_filter=["y"]))) == [33, 1]

    def test_groups_may_come_and_go_while_they_are_listed(self, desk: Desk) -> None:
        """The driver lets other tasks run after each group. One of them may delete a group."""
        for number in range(3):
            desk.core.groups[f"g{number}"] = Group(f"g{number}")
        listing = listed(desk.core.groups, result(group_filter(ListGroupsRequest())))
        assert next(listing) == 1
        del desk.core.groups["g2"]
        desk.core.groups["g3"] = Group("g3")
        assert [each.group_id for each in result(listing)][:2] == ["g0", "g1"]


class TestDelete:
    def delete(self, desk: Desk) -> int:
        code: int = desk.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2).results[0].error_code
        return code

    def test_takes_the_offsets_with_it(self, desk: Desk) -> None:
        """KIP-229."""
        desk.commit(1)
        assert self.delete(desk) == ErrorCode.NONE
        assert (desk.core.groups, desk.committed()) == ({}, {})
        desk.restart()
        assert (desk.core.groups, desk.committed()) == ({}, {})

    def test_refuses_a_group_with_members(self, desk: Desk) -> None:
        desk.stable()
        assert self.delete(desk) == ErrorCode.NON_EMPTY_GROUP

    def test_an_unknown_group_is_not_found(self, desk: Desk) -> None:
        assert self.delete(desk) == ErrorCode.GROUP_ID_NOT_FOUND


class TestOffsetDelete:
    """KIP-496."""

    def delete(self, desk: Desk, topic: str = "t") -> tuple[int, list[int]]:
        topics = [OffsetDeleteRequestTopic(topic, partitions=[OffsetDeleteRequestPartition(i) for i in (0, 7)])]
        answer = desk.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
        return answer.error_code, [each.error_code for topic in answer.topics for each in topic.partitions]

    def test_of_an_empty_group(self, desk: Desk) -> None:
        """A partition without an offset is no error."""
        desk.commit(1)
        assert self.delete(desk) == (ErrorCode.NONE, [ErrorCode.NONE, ErrorCode.NONE])
        desk.restart()
        assert desk.committed() == {}

    def test_shows_with_its_response_although_another_deletion_is_not_committed(self, desk: Desk) -> None:
        """A client whose deletion succeeded finds no offset. So the response waits for a tombstone in any case."""
        desk.commit(5, partition=7)
        desk.is_followed = False
        desk.send(DeleteGroupsRequest([GROUP]), 2)
        desk.send_commit(5)
        topics = [OffsetDeleteRequestTopic("t", partitions=[OffsetDeleteRequestPartition(7)])]
        token = desk.send(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
        assert token not in desk.answers or ("t", 7) not in desk.committed()
        desk.commit_all()
        assert desk.answers[token].topics[0].partitions[0].error_code == ErrorCode.NONE
        assert desk.committed() == {("t", 0): 5}

    def test_of_a_topic_that_members_read_is_refused(self, desk: Desk) -> None:
        [member_id] = desk.stable(protocols=[("range", subscription("t"))])
        desk.commit(1, member_id=member_id, generation=1, topic="u")
        assert self.delete(desk, "t") == (ErrorCode.NONE, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC] * 2)
        assert self.delete(desk, "u") == (ErrorCode.NONE, [ErrorCode.NONE] * 2)
        assert desk.committed() == {}

    def test_until_the_first_generation_every_topic_may_be_read(self, desk: Desk) -> None:
        desk.enter()
        assert self.delete(desk, "u") == (ErrorCode.NONE, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC] * 2)

    def test_of_members_of_another_kind_is_refused(self, desk: Desk) -> None:
        desk.enter(protocol_type="connect")
        assert self.delete(desk) == (ErrorCode.NON_EMPTY_GROUP, [])

    def test_of_an_unknown_group(self, desk: Desk) -> None:
        assert self.delete(desk) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_partition_that_is_named_again_is_deleted_once(desk: Desk) -> None:
    """Each tombstone has the group's id, so that a request of 93 KB could append 108 MB."""
    desk.commit(1)
    before = len(desk.written)
    topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)] * 1000)] * 2
    answer = desk.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
    assert {each.error_code for topic in answer.topics for each in topic.partitions} == {0}
    assert len(desk.written) - before == 1
