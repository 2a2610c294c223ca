"""The records of consumer groups in ``__consumer_offsets``. Their keys have the versions 3 to 8 and 16."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraft.coordinator.groups.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    OwnedPartitions,
    ResolvedRegex,
    TopicPartitions,
)
from kraft.coordinator.groups.state_record import RecordKinds, StateRecord
from kraft.messages.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from kraft.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    CurrentTopicPartitions,
)
from kraft.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from kraft.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from kraft.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from kraft.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from kraft.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from kraft.messages.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from kraft.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from kraft.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from kraft.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from kraft.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TargetTopicPartitions,
)
from kraft.messages.consumer_group_target_assignment_metadata_key import ConsumerGroupTargetAssignmentMetadataKey
from kraft.messages.consumer_group_target_assignment_metadata_value import ConsumerGroupTargetAssignmentMetadataValue
from kraft.metadata.steps import Steps, in_order

#: The class of the key and of the value, by the key's version.
KINDS: dict[int, tuple[type[Any], type[Any]]] = {
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}


class ConsumerGroupRecord(StateRecord):
    """One record of a consumer group."""


_RECORDS = RecordKinds(ConsumerGroupRecord, KINDS)
record = _RECORDS.record
_NAMES_AT_ONCE, _NAMES_COST = 500, 50
"""The names that are sorted in a step, and its cost."""
decode_consumer_record = _RECORDS.decode


def member_metadata(group_id: str, member: ConsumerMember) -> Steps[ConsumerGroupRecord]:
    """The subscription of a member, which may have as many topics as a request."""
    names = []
    for name in (yield from in_order(member.topics)):
        names.append(name)
        if not len(names) % _NAMES_AT_ONCE:
            yield _NAMES_COST
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=names,
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=round(member.rebalance_timeout_s * 1000),
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    return (yield from _RECORDS.in_steps(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value))


def group_metadata(group_id: str, epoch: int, metadata_hash: int) -> ConsumerGroupRecord:
    return record(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))


def target_assignment(group_id: str, member_id: str, target: TopicPartitions) -> ConsumerGroupRecord:
    return record(
        ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            [TargetTopicPartitions(topic_id, sorted(target[topic_id])) for topic_id in sorted(target)]
        ),
    )


def assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> ConsumerGroupRecord:
    return record(
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def current_assignment(group_id: str, member: ConsumerMember) -> ConsumerGroupRecord:
    return record(
        ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.revoking),
        ),
    )


def _with_epochs(owned: OwnedPartitions) -> list[CurrentTopicPartitions]:
    return [
        CurrentTopicPartitions(topic_id, sorted(epochs), [epochs[each] for each in sorted(epochs)])
        for topic_id, epochs in sorted(owned.items())
    ]


def owned_partitions(stored: Iterable[CurrentTopicPartitions], member_epoch: int) -> OwnedPartitions:
    """Return partitions with their epochs. Apache Kafka before 4.3 stored none: then ``member_epoch`` counts."""
    owned = {}
    for topic in stored:
        epochs = topic.assignment_epochs or []
        if len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned


def member_state(number: int) -> MemberState:
    return MemberState(number) if number in list(MemberState) else MemberState.UNKNOWN


def resolved_regex(group_id: str, regex: str, resolved: ResolvedRegex) -> ConsumerGroupRecord:
    return record(
        ConsumerGroupRegularExpressionKey(group_id, regex),
        ConsumerGroupRegularExpressionValue(sorted(resolved.topics), resolved.version, resolved.timestamp_ms),
    )


def regex_tombstone(group_id: str, regex: str) -> ConsumerGroupRecord:
    return record(ConsumerGroupRegularExpressionKey(group_id, regex))


def member_tombstones(group_id: str, member_id: str) -> list[ConsumerGroupRecord]:
    """The records that remove a member, in Apache's order."""
    return [
        record(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)),
        record(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)),
        record(ConsumerGroupMemberMetadataKey(group_id, member_id)),
    ]


def group_tombstones(group: ConsumerGroup) -> list[ConsumerGroupRecord]:
    """The records that remove a group (``ConsumerGroup.createGroupTombstoneRecords``)."""
    group_id = group.group_id
    return [
        *(each for member_id in sorted(group.members) for each in member_tombstones(group_id, member_id)),
        *(regex_tombstone(group_id, regex) for regex in sorted(group.regexes)),
        record(ConsumerGroupTargetAssignmentMetadataKey(group_id)),
        record(ConsumerGroupPartitionMetadataKey(group_id)),
        record(ConsumerGroupMetadataKey(group_id)),
    ]
