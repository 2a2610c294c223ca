"""``replay(group, record) -> group``: the only way in which a share group changes.

The coordinator replays the records of a decision at once, and all records when it loads the partition. Compaction may
have removed older records, so each record must apply to any group. Source: ``GroupMetadataManager.replay``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

import attrs
from immutables import Map

from kraft.coordinator.groups.share.group import LEAVE_EPOCH, ShareGroup, ShareMember, StatePartitions, StateTopic
from kraft.coordinator.groups.share.records import ShareGroupRecord
from kraft.messages.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from kraft.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from kraft.messages.share_group_metadata_key import ShareGroupMetadataKey
from kraft.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kraft.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
    StateTopicPartitions,
)
from kraft.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from kraft.messages.share_group_target_assignment_metadata_key import ShareGroupTargetAssignmentMetadataKey

V = TypeVar("V")


def replay(group: ShareGroup | None, record: ShareGroupRecord) -> ShareGroup | None:
    """Return the group after a record. None if the group does not exist. A tombstone creates no group."""
    if group is None:
        if record.message is None:
            return None
        group = ShareGroup(record.group_id)
    key, message = record.key_message, record.message
    match key:
        case ShareGroupMetadataKey():
            if message is None:
                return None
            return attrs.evolve(group, epoch=message.epoch, metadata_hash=message.metadata_hash)
        case ShareGroupTargetAssignmentMetadataKey():
            epoch, timestamp = (0, 0) if message is None else (message.assignment_epoch, message.assignment_timestamp)
            return attrs.evolve(group, assignment_epoch=epoch, assignment_timestamp_ms=timestamp)
        case ShareGroupTargetAssignmentMemberKey():
            if message is None:
                return attrs.evolve(group, target=_without(group.target, key.member_id))
            target = {topic.topic_id: frozenset(topic.partitions) for topic in message.topic_partitions}
            return attrs.evolve(group, target=group.target.set(key.member_id, target))
        case ShareGroupStatePartitionMetadataKey():
            return attrs.evolve(group, states=StatePartitions() if message is None else _states(message))
        case ShareGroupMemberMetadataKey() | ShareGroupCurrentMemberAssignmentKey():
            return attrs.evolve(group, members=_members(group.members, record))
    return group


def _without(table: Map[str, V], key: str) -> Map[str, V]:
    return table.delete(key) if key in table else table


def _members(members: Map[str, ShareMember], record: ShareGroupRecord) -> Map[str, ShareMember]:
    key, message = record.key_message, record.message
    member = members.get(key.member_id)
    if isinstance(key, ShareGroupMemberMetadataKey):
        if message is None:
            return _without(members, key.member_id)
        changes: dict[str, Any] = {
            "rack_id": message.rack_id,
            "client_id": message.client_id,
            "client_host": message.client_host,
            "topics": frozenset(message.subscribed_topic_names),
        }
    elif message is not None:
        changes = {
            "member_epoch": message.member_epoch,
            "previous_member_epoch": message.previous_member_epoch,
            "assigned": {topic.topic_id: frozenset(topic.partitions) for topic in message.assigned_partitions},
        }
    elif member is not None:
        changes = {"member_epoch": LEAVE_EPOCH, "previous_member_epoch": LEAVE_EPOCH, "assigned": {}}
    else:
        return members
    return members.set(key.member_id, attrs.evolve(member or ShareMember(key.member_id), **changes))


def _states(message: ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    return StatePartitions(
        _topics(message.initializing_topics),
        _topics(message.initialized_topics),
        {topic.topic_id: topic.topic_name for topic in message.deleting_topics},
    )


def _topics(stored: Iterable[StateTopicPartitions]) -> dict[UUID, StateTopic]:
    return {topic.topic_id: StateTopic(topic.topic_name, frozenset(topic.partitions)) for topic in stored}
