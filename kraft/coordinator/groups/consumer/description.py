"""ConsumerGroupDescribe: the epochs, members and assignments of consumer groups, as far as they are committed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from uuid import UUID

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.consumer.target import assignor_of
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeMember,
    ConsumerGroupDescribeResponse,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedTopicPartitions,
)
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, shortened

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
"""The types of members (KIP-1099)."""


def describe_consumers(
    consumers: ConsumerGroups, others: Container[str], request: CoordinatorRequest
) -> Steps[ConsumerGroupDescribeResponse]:
    """Describe consumer groups. ``others`` are the ids of classic groups."""
    message: ConsumerGroupDescribeRequest = request.message
    response = ConsumerGroupDescribeResponse()
    for group_id in message.group_ids:
        group = consumers.committed.get(group_id)
        if group is None:
            why = "is not a consumer group" if group_id in others else "not found"
            text = shortened(f"Group {group_id} {why}.")
            code = ErrorCode.GROUP_ID_NOT_FOUND
            response.groups.append(DescribedConsumerGroup(error_code=code, error_message=text, group_id=group_id))
        else:
            response.groups.append((yield from _described(group, consumers.image())))
        yield 1
    return response


def _described(group: ConsumerGroup, image: Image) -> Steps[DescribedConsumerGroup]:
    described = DescribedConsumerGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor_of(group),
    )
    for _, member in sorted(group.members.items()):
        described.members.append((yield from _described_member(group, member, image)))
    return described


def _described_member(group: ConsumerGroup, member: ConsumerMember, image: Image) -> Steps[ConsumerGroupDescribeMember]:
    return ConsumerGroupDescribeMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=(yield from _assignment(_held(member), image)),
        target_assignment=(yield from _assignment(group.target.get(member.member_id, {}), image)),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _held(member: ConsumerMember) -> Mapping[UUID, Iterable[int]]:
    """Return the partitions of a member, with those that it has to give up, which it may still use."""
    revoking = member.revoking
    return {
        topic_id: {*member.assigned.get(topic_id, ()), *revoking.get(topic_id, ())}
        for topic_id in {*member.assigned, *revoking}
    }


def _assignment(partitions: Mapping[UUID, Iterable[int]], image: Image) -> Steps[DescribedAssignment]:
    """Return the partitions of the topics that exist."""
    assignment = DescribedAssignment()
    for topic_id, indexes in sorted(partitions.items()):
        topic = image.topics.get(topic_id)
        if topic is not None:
            assignment.topic_partitions.append(DescribedTopicPartitions(topic_id, topic.name, sorted(indexes)))
        yield 1
    return assignment
