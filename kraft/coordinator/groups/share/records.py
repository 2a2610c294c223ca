"""The records of share groups in ``__consumer_offsets``. Their keys have the versions 10 to 15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kraft.coordinator.groups.consumer.group import TopicPartitions
from kraft.coordinator.groups.share.group import ShareMember, StatePartitions, StateTopic
from kraft.coordinator.groups.state_record import RecordKinds, StateRecord
from kraft.messages.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from kraft.messages.share_group_current_member_assignment_value import (
    ShareCurrentTopicPartitions,
    ShareGroupCurrentMemberAssignmentValue,
)
from kraft.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from kraft.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from kraft.messages.share_group_metadata_key import ShareGroupMetadataKey
from kraft.messages.share_group_metadata_value import ShareGroupMetadataValue
from kraft.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kraft.messages.share_group_state_partition_metadata_value import (
    DeletingTopic,
    ShareGroupStatePartitionMetadataValue,
    StateTopicPartitions,
)
from kraft.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from kraft.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
    ShareTargetTopicPartitions,
)
from kraft.messages.share_group_target_assignment_metadata_key import ShareGroupTargetAssignmentMetadataKey
from kraft.messages.share_group_target_assignment_metadata_value import ShareGroupTargetAssignmentMetadataValue

_STABLE = 0
"""The only state of a member that Apache Kafka writes."""

#: The class of the key and of the value, by the key's version.
KINDS: dict[int, tuple[type[Any], type[Any]]] = {
    10: (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: (ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    13: (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    15: (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
}


class ShareGroupRecord(StateRecord):
    """One record of a share group."""


_RECORDS = RecordKinds(ShareGroupRecord, KINDS)
_record = _RECORDS.record
decode_share_group_record = _RECORDS.decode


def member_metadata(group_id: str, member: ShareMember) -> ShareGroupRecord:
    """The subscription of a member."""
    return _record(
        ShareGroupMemberMetadataKey(group_id, member.member_id),
        ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topics),
        ),
    )


def group_metadata(group_id: str, epoch: int, metadata_hash: int) -> ShareGroupRecord:
    return _record(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(epoch, metadata_hash))


def target_assignment(group_id: str, member_id: str, target: TopicPartitions) -> ShareGroupRecord:
    return _record(
        ShareGroupTargetAssignmentMemberKey(group_id, member_id),
        ShareGroupTargetAssignmentMemberValue(
            [ShareTargetTopicPartitions(topic_id, sorted(target[topic_id])) for topic_id in sorted(target)]
        ),
    )


def assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> ShareGroupRecord:
    return _record(
        ShareGroupTargetAssignmentMetadataKey(group_id),
        ShareGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def current_assignment(group_id: str, member: ShareMember) -> ShareGroupRecord:
    return _record(
        ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=_STABLE,
            assigned_partitions=[
                ShareCurrentTopicPartitions(topic_id, sorted(member.assigned[topic_id]))
                for topic_id in sorted(member.assigned)
            ],
        ),
    )


def state_partitions(group_id: str, states: StatePartitions) -> ShareGroupRecord:
    return _record(
        ShareGroupStatePartitionMetadataKey(group_id),
        ShareGroupStatePartitionMetadataValue(
            _stored(states.initializing),
            _stored(states.initialized),
            [DeletingTopic(topic_id, states.deleting[topic_id]) for topic_id in sorted(states.deleting)],
        ),
    )


def _stored(topics: Mapping[UUID, StateTopic]) -> list[StateTopicPartitions]:
    return [
        StateTopicPartitions(topic_id, topic.name, sorted(topic.partitions))
        for topic_id, topic in sorted(topics.items(), key=lambda each: each[0])
    ]


def member_tombstones(group_id: str, member_id: str) -> list[ShareGroupRecord]:
    """The records that remove a member, in Apache's order."""
    return [
        _record(ShareGroupCurrentMemberAssignmentKey(group_id, member_id)),
        _record(ShareGroupTargetAssignmentMemberKey(group_id, member_id)),
        _record(ShareGroupMemberMetadataKey(group_id, member_id)),
    ]


def group_tombstones(group_id: str) -> list[ShareGroupRecord]:
    """The records that remove a group without members (``ShareGroup.createGroupTombstoneRecords``)."""
    return [
        _record(ShareGroupTargetAssignmentMetadataKey(group_id)),
        _record(ShareGroupStatePartitionMetadataKey(group_id)),
        _record(ShareGroupMetadataKey(group_id)),
    ]
