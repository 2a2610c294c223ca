"""ShareGroupDescribe and ListGroups: share groups as far as they are committed."""

from __future__ import annotations

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.admin import GroupFilter
from kraft.coordinator.groups.share.assignor import NAME
from kraft.coordinator.groups.share.group import ShareGroup, ShareMember
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.messages.list_groups_response import ListedGroup
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.messages.share_group_describe_response import (
    DescribedShareAssignment,
    DescribedSharedPartitions,
    DescribedShareGroup,
    ShareGroupDescribeMember,
    ShareGroupDescribeResponse,
)
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, shortened

SHARE_PROTOCOL = "share"
"""The protocol type and the type of share groups."""


def describe_shares(shares: ShareGroups, request: CoordinatorRequest) -> Steps[ShareGroupDescribeResponse]:
    message: ShareGroupDescribeRequest = request.message
    response = ShareGroupDescribeResponse()
    for group_id in message.group_ids:
        group = shares.committed.get(group_id)
        if group is None:
            text = shortened(f"Group {group_id} not found.")
            code = ErrorCode.GROUP_ID_NOT_FOUND
            response.groups.append(DescribedShareGroup(error_code=code, error_message=text, group_id=group_id))
        else:
            response.groups.append((yield from _described(group, shares.image())))
        yield 1
    return response


def _described(group: ShareGroup, image: Image) -> Steps[DescribedShareGroup]:
    described = DescribedShareGroup(
        group_id=group.group_id,
        group_state=group.state().value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=NAME,
    )
    for _, member in sorted(group.members.items()):
        described.members.append(_described_member(member, image))
        yield 1 + len(member.assigned)
    return described


def _described_member(member: ShareMember, image: Image) -> ShareGroupDescribeMember:
    known = [image.topics[topic_id] for topic_id in sorted(member.assigned) if topic_id in image.topics]
    return ShareGroupDescribeMember(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=DescribedShareAssignment(
            [DescribedSharedPartitions(topic.id, topic.name, sorted(member.assigned[topic.id])) for topic in known]
        ),
    )


def listed_shares(groups: dict[str, ShareGroup], wanted: GroupFilter) -> Steps[list[ListedGroup]]:
    """Return the share groups that the filter of ListGroups admits."""
    answer: list[ListedGroup] = []
    if wanted.types and SHARE_PROTOCOL not in wanted.types:
        return answer
    for group in list(groups.values()):
        yield 1
        state = group.state().value
        if not wanted.states or state.lower() in wanted.states:
            answer.append(ListedGroup(group.group_id, SHARE_PROTOCOL, state, SHARE_PROTOCOL))
    return answer
