"""Describe a group of any type. Its name does not show the type, so the coordinator gets one request after the other,
as from Kafka's admin client.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kraft.client.cluster import Cluster, check
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_describe_response import ConsumerGroupDescribeMember, DescribedConsumerGroup
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from kraft.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kraft.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponseGroup
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.messages.share_group_describe_response import DescribedShareGroup, ShareGroupDescribeMember
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
"""Kafka's names of the types of groups."""
_OF_ANOTHER_TYPE = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


@attrs.frozen
class MemberDescription:
    """A member, with the topic and number of each partition assigned to it."""

    member_id: str
    client_id: str
    host: str
    partitions: Sequence[tuple[str, int]]


@attrs.frozen
class GroupDescription:
    """A group. ``protocol`` is the name of the assignor."""

    group_id: str
    type: str
    state: str
    protocol: str
    members: Sequence[MemberDescription]


async def describe_group(cluster: Cluster, group: str) -> GroupDescription:
    """Describe a group.

    Raises:
        KafkaError: GROUP_ID_NOT_FOUND, or another error that cannot pass.
        GaveUp: no coordinator responded in time.
    """
    for kind, request in (
        (CONSUMER, ConsumerGroupDescribeRequest(group_ids=[group])),
        (SHARE, ShareGroupDescribeRequest(group_ids=[group])),
    ):
        try:
            answer = await cluster.ask_coordinator(group, request, lambda answer: answer.groups[0].error_code)
            found: DescribedConsumerGroup | DescribedShareGroup = answer.groups[0]
            check(found.error_code, found.error_message)
        except KafkaError as error:
            if error.code not in _OF_ANOTHER_TYPE:
                raise
        else:
            members = [_member(each) for each in found.members]
            return GroupDescription(group, kind, found.group_state, found.assignor_name, members)
    return await _describe_classic(cluster, group)


async def _describe_classic(cluster: Cluster, group: str) -> GroupDescription:
    request = DescribeGroupsRequest(groups=[group])
    answer = await cluster.ask_coordinator(group, request, lambda answer: answer.groups[0].error_code)
    found: DescribedGroup = answer.groups[0]
    # A group that does not exist is Dead before version 6.
    is_missing = found.error_code == ErrorCode.GROUP_ID_NOT_FOUND or found.group_state == "Dead"
    check(ErrorCode.GROUP_ID_NOT_FOUND if is_missing else found.error_code, f"group {group} does not exist")
    members = [
        MemberDescription(each.member_id, each.client_id, each.client_host, assigned_partitions(each))
        for each in found.members
    ]
    return GroupDescription(group, CLASSIC, found.group_state, found.protocol_data, members)


def _member(member: ConsumerGroupDescribeMember | ShareGroupDescribeMember) -> MemberDescription:
    partitions = [
        (topic.topic_name, index) for topic in member.assignment.topic_partitions for index in topic.partitions
    ]
    return MemberDescription(member.member_id, member.client_id, member.client_host, partitions)


def assigned_partitions(member: DescribedGroupMember) -> list[tuple[str, int]]:
    """Return the partitions assigned to a member; none if its assignment is not that of a consumer."""
    data = member.member_assignment
    if len(data) < 2:
        return []
    version = min(int.from_bytes(data[:2], "big", signed=True), ConsumerProtocolAssignment.VALID_VERSIONS[1])
    try:
        assignment, _ = decode(ConsumerProtocolAssignment, max(0, version), data, 2)
    except DecodeError:
        return []
    return [(entry.topic, index) for entry in assignment.assigned_partitions for index in entry.partitions]


async def share_group_offsets(cluster: Cluster, group: str) -> dict[tuple[str, int], tuple[int, int | None]]:
    """Return the start offset and the lag of a share group (KIP-932) by topic and partition.

    The lag counts the records that are not finished (KIP-1226). It is None if the coordinator does not report it.

    Raises KafkaError or GaveUp on failure.
    """
    request = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group, topics=None)])
    answer = await cluster.ask_coordinator(group, request, lambda answer: answer.groups[0].error_code)
    found: DescribeShareGroupOffsetsResponseGroup = answer.groups[0]
    check(found.error_code, found.error_message)
    return {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag if each.lag >= 0 else None)
        for topic in found.topics
        for each in topic.partitions
        if not each.error_code and each.start_offset >= 0
    }
