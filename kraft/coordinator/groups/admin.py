"""The requests of an administrator: DescribeGroups, ListGroups, DeleteGroups and OffsetDelete."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.group import ConsumerGroup
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import CONSUMER_PROTOCOL, Group, GroupState
from kraft.coordinator.groups.offsets import Offsets, delete_group, forget
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import OffsetRecord
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_groups_response import ListedGroup
from kraft.messages.offset_delete_request import OffsetDeleteRequest
from kraft.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError, shortened

GROUP_ID_NOT_FOUND_VERSION = 6
"""The first version in which DescribeGroups returns GROUP_ID_NOT_FOUND. Before, an unknown group is Dead (KIP-1043)."""
GROUP_TYPE = "classic"
CONSUMER_GROUP_TYPE = "consumer"
_MEMBERS_AT_ONCE = 10
"""The members of a consumer group whose states are examined in the time in which a group is listed."""
_LOWERED_CHARACTERS = 1000
"""The characters of a filter's name whose lower case takes as long as the listing of a group."""


def describe(
    groups: dict[str, Group], others: Container[str], request: CoordinatorRequest
) -> Steps[DescribeGroupsResponse]:
    """Describe classic groups. ``others`` are the ids of consumer groups."""
    message: DescribeGroupsRequest = request.message
    response = DescribeGroupsResponse()
    for group_id in message.groups:
        response.groups.append((yield from _described(groups.get(group_id), group_id, others, request.version)))
    return response


def _described(group: Group | None, group_id: str, others: Container[str], version: int) -> Steps[DescribedGroup]:
    yield 1
    if group is None:
        unknown = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
        if version >= GROUP_ID_NOT_FOUND_VERSION:
            unknown.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            why = "is not a classic group" if group_id in others else "not found"
            unknown.error_message = shortened(f"Group {group_id} {why}.")
        return unknown
    settled = group.state is GroupState.STABLE
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        # No protocol is elected during a rebalance. An assignment stays until the next generation.
        protocol_data=group.protocol_name or "" if settled else "",
    )
    for member in group.members.values():
        described.members.append(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if settled else b"",
                member_assignment=member.assignment,
            )
        )
        yield 1
    return described


@attrs.frozen
class GroupFilter:
    """The states and types of ListGroups in lower case. An empty set admits all."""

    states: set[str]
    types: set[str]


def group_filter(message: ListGroupsRequest) -> Generator[int, None, GroupFilter]:
    """Return the filter of a request (KIP-518, KIP-848), which ignores case. Yields costs as :func:`listed` does."""
    states = yield from _in_lower_case(state.strip() for state in message.states_filter)
    types = yield from _in_lower_case(message.types_filter)
    return GroupFilter(states, types)


def _in_lower_case(names: Iterable[str]) -> Generator[int, None, set[str]]:
    lowered = set()
    for name in names:
        lowered.add(name.lower())
        yield 1 + len(name) // _LOWERED_CHARACTERS
    return lowered


def listed_consumers(groups: dict[str, ConsumerGroup], wanted: GroupFilter) -> Steps[list[ListedGroup]]:
    """:func:`listed` for the groups of KIP-848."""
    answer: list[ListedGroup] = []
    if wanted.types and CONSUMER_GROUP_TYPE not in wanted.types:
        return answer
    for group in list(groups.values()):
        yield 1 + len(group.members) // _MEMBERS_AT_ONCE
        state = group.state.value
        if not wanted.states or state.lower() in wanted.states:
            answer.append(ListedGroup(group.group_id, CONSUMER_PROTOCOL, state, CONSUMER_GROUP_TYPE))
    return answer


def listed(groups: dict[str, Group], wanted: GroupFilter) -> Generator[int, None, list[ListedGroup]]:
    """List the groups that the filter admits.

    After each group it yields 1, so that the caller can pause. Groups may come and go meanwhile.
    """
    answer: list[ListedGroup] = []
    if wanted.types and GROUP_TYPE not in wanted.types:
        return answer
    for group in list(groups.values()):
        yield 1
        if not wanted.states or group.state.value.lower() in wanted.states:
            answer.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=GROUP_TYPE,
                )
            )
    return answer


def delete(
    step: Step, groups: dict[str, Group], consumers: ConsumerGroups, offsets: Offsets, request: CoordinatorRequest
) -> Steps[None]:
    """Delete groups without members, with all their offsets."""
    message: DeleteGroupsRequest = request.message
    results = []
    for group_id in message.groups_names:
        group, consumer = groups.get(group_id), consumers.groups.get(group_id)
        if group is None and consumer is None:
            code = ErrorCode.GROUP_ID_NOT_FOUND
        elif (group is not None and group.state is not GroupState.EMPTY) or (consumer is not None and consumer.members):
            code = ErrorCode.NON_EMPTY_GROUP
        elif not step.may_write():
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        else:
            code = ErrorCode.NONE
            try:
                # Before the offsets: the deletion of a group is refused as a whole.
                yield from delete_group(step, groups, consumers, group_id)
                yield from forget(step, offsets, group_id, offsets.written(group_id))
            except KafkaError as refused:
                code = refused.code
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
        yield 1
    step.reply_once_committed(request.token, DeleteGroupsResponse(results=results))


def delete_offsets(
    step: Step, groups: dict[str, Group], consumers: ConsumerGroups, offsets: Offsets, request: CoordinatorRequest
) -> Steps[None]:
    """Delete single offsets, except those of topics to which the group's members subscribe (KIP-496)."""
    message: OffsetDeleteRequest = request.message
    group, consumer = groups.get(message.group_id), consumers.groups.get(message.group_id)
    response = OffsetDeleteResponse()
    if group is None and consumer is None:
        response.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        step.reply(request.token, response)
        return
    if group is not None and group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL:
        response.error_code = ErrorCode.NON_EMPTY_GROUP
        step.reply(request.token, response)
        return
    if not step.may_write():
        response.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        step.reply(request.token, response)
        return
    # Also those with an uncommitted tombstone: clients see them until it is committed, and the response must wait.
    written = {**offsets.written(message.group_id), **offsets.of(message.group_id)}
    read = frozenset() if consumer is None else consumer.subscribed_topics()
    for topic in message.topics:
        is_read = topic.name in read or (group is not None and group.subscribes_to(topic.name))
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_read else ErrorCode.NONE
        answer = OffsetDeleteResponseTopic(name=topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            if code is ErrorCode.NONE and (topic.name, index) in written:
                offsets.write(step, OffsetRecord(message.group_id, topic.name, index, None))
                del written[topic.name, index]  # a partition that is named again has no second tombstone
            answer.partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
            yield 1
        response.topics.append(answer)
    step.count(Counted.OFFSET_DELETIONS, len(step.effects.append))
    step.reply_once_committed(request.token, response)
