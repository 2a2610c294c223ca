"""``replay(group, record) -> group``: the only way in which a consumer group changes.

The coordinator replays the records of a decision at once, and all records when it loads the partition. Compaction may
have removed older records, so each record must apply to any group. Source: ``GroupMetadataManager.replay``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from kraft.coordinator.groups.consumer.group import (
    NO_ASSIGNMENT_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    ResolvedRegex,
)
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord, member_state, owned_partitions
from kraft.messages.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from kraft.messages.consumer_group_current_member_assignment_value import ConsumerGroupCurrentMemberAssignmentValue
from kraft.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from kraft.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from kraft.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from kraft.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from kraft.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from kraft.messages.consumer_group_target_assignment_metadata_key import ConsumerGroupTargetAssignmentMetadataKey


def replay(group: ConsumerGroup | None, record: ConsumerGroupRecord) -> ConsumerGroup | None:
    """Return the group after a record. None if the group does not exist.

    A tombstone creates no group, and ConsumerGroupPartitionMetadata, which Kafka 4.0 wrote, changes nothing.
    """
    if group is None:
        if record.message is None:
            return None
        group = ConsumerGroup(record.group_id)
    key, message = record.key_message, record.message
    match key:
        case ConsumerGroupMetadataKey():
            return (
                None
                if message is None
                else attrs.evolve(group, epoch=message.epoch, metadata_hash=message.metadata_hash)
            )
        case ConsumerGroupMemberMetadataKey():
            return _without(group, key.member_id) if message is None else _described(group, key.member_id, message)
        case ConsumerGroupTargetAssignmentMetadataKey():
            if message is None:
                return attrs.evolve(group, assignment_epoch=NO_ASSIGNMENT_EPOCH, assignment_timestamp_ms=0)
            epoch, timestamp = message.assignment_epoch, message.assignment_timestamp
            return attrs.evolve(group, assignment_epoch=epoch, assignment_timestamp_ms=timestamp)
        case ConsumerGroupTargetAssignmentMemberKey():
            if message is None:
                return attrs.evolve(group, target=_deleted(group.target, key.member_id))
            target = {topic.topic_id: frozenset(topic.partitions) for topic in message.topic_partitions}
            return attrs.evolve(group, target=group.target.set(key.member_id, target))
        case ConsumerGroupCurrentMemberAssignmentKey():
            return _assigned(group, key.member_id, message)
        case ConsumerGroupRegularExpressionKey():
            if message is None:
                return attrs.evolve(group, regexes=_deleted(group.regexes, key.regular_expression))
            resolved = ResolvedRegex(frozenset(message.topics), message.version, message.timestamp)
            return attrs.evolve(group, regexes=group.regexes.set(key.regular_expression, resolved))
    return group


def _deleted(table: Any, key: str) -> Any:
    return table.delete(key) if key in table else table


def _described(group: ConsumerGroup, member_id: str, value: ConsumerGroupMemberMetadataValue) -> ConsumerGroup:
    before = group.members.get(member_id, ConsumerMember(member_id))
    member = attrs.evolve(
        before,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_s=value.rebalance_timeout_ms / 1000,
        topics=frozenset(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )
    static = _without_instance(group.static_members, before)
    if member.instance_id is not None:
        static = static.set(member.instance_id, member_id)
    return attrs.evolve(group, members=group.members.set(member_id, member), static_members=static)


def _without(group: ConsumerGroup, member_id: str) -> ConsumerGroup:
    member = group.members.get(member_id)
    if member is None:
        return group
    group = _assigned(group, member_id, None)
    static = _without_instance(group.static_members, member)
    return attrs.evolve(group, members=group.members.delete(member_id), static_members=static)


def _without_instance(static: Map[str, str], member: ConsumerMember) -> Map[str, str]:
    """Remove the instance id of a member, unless it has passed to another one."""
    instance_id = member.instance_id
    if instance_id is None or static.get(instance_id) != member.member_id:
        return static
    return static.delete(instance_id)


def _assigned(
    group: ConsumerGroup, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None
) -> ConsumerGroup:
    """Change the partitions of a member. Each of them has one owner at a time, the member of the last record."""
    before = group.members.get(member_id)
    if before is None:
        if value is None:
            return group
        before = ConsumerMember(member_id)
    if value is None:
        after = attrs.evolve(before, assigned={}, revoking={})
    else:
        after = attrs.evolve(
            before,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=member_state(value.state),
            assigned=owned_partitions(value.assigned_partitions, value.member_epoch),
            revoking=owned_partitions(value.partitions_pending_revocation, value.member_epoch),
        )
    held, holds = set(_partitions(before)), set(_partitions(after))
    owners = group.owners.mutate()
    for partition in held - holds:
        if owners.get(partition) == member_id:
            del owners[partition]
    for partition in holds - held:
        owners[partition] = member_id
    return attrs.evolve(group, members=group.members.set(member_id, after), owners=owners.finish())


def _partitions(member: ConsumerMember) -> Iterator[tuple[UUID, int]]:
    for owned in (member.assigned, member.revoking):
        for topic_id, epochs in owned.items():
            for partition in epochs:
                yield topic_id, partition
