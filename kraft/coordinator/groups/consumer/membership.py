"""The checks of a heartbeat, and the member that sends it: new, known, or a static member that returns (KIP-345).

Source: ``GroupMetadataManager``, ``throwIfConsumerGroupHeartbeatRequestIsInvalid`` and the functions after it.
"""

from __future__ import annotations

import attrs

from kraft.coordinator.groups.consumer.assignors import ASSIGNORS
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroup,
    ConsumerMember,
)
from kraft.coordinator.groups.consumer.records import (
    current_assignment,
    member_metadata,
    member_tombstones,
    target_assignment,
)
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

CLIENT_CHOOSES_ID_VERSION = 1
"""The first version in which the client chooses the member id (KIP-1082)."""


def check(message: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Raises KafkaError with INVALID_REQUEST or UNSUPPORTED_ASSIGNOR."""
    _refuse_if(message.group_id == "", "GroupId can't be empty.")
    _refuse_if(message.instance_id == "", "InstanceId can't be empty.")
    _refuse_if(message.rack_id == "", "RackId can't be empty.")
    epoch = message.member_epoch
    if epoch != JOIN_EPOCH or version >= CLIENT_CHOOSES_ID_VERSION:
        _refuse_if(message.member_id == "", "MemberId can't be empty.")
    if epoch == JOIN_EPOCH:
        _refuse_if(message.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request.")
        _refuse_if(message.topic_partitions != [], "TopicPartitions must be empty when (re-)joining.")
        nothing = message.subscribed_topic_names is None and message.subscribed_topic_regex is None
        _refuse_if(nothing, "Either SubscribedTopicNames or SubscribedTopicRegex must be set in first request.")
    elif epoch == LEAVE_STATIC_EPOCH:
        _refuse_if(message.instance_id is None, "InstanceId can't be null.")
    else:
        _refuse_if(epoch < LEAVE_EPOCH, f"MemberEpoch is invalid: {epoch}.")
    if message.server_assignor is not None and message.server_assignor not in ASSIGNORS:
        supported = ", ".join(ASSIGNORS)
        text = f"ServerAssignor {message.server_assignor} is not supported. Supported assignors: {supported}."
        raise KafkaError(ErrorCode.UNSUPPORTED_ASSIGNOR, text)


def _refuse_if(wrong: bool, text: str) -> None:
    if wrong:
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def known_member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """Raises KafkaError with UNKNOWN_MEMBER_ID."""
    member = group.members.get(member_id)
    if member is None:
        text = f"Member {member_id} is not a member of group {group.group_id}."
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, text)
    return member


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Raises KafkaError with UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if another member has the instance id."""
    owner = group.static_members.get(instance_id)
    if owner is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if owner != member_id:
        text = f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}."
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, text)
    return group.members[owner]


def sender(
    decision: GroupDecision, message: ConsumerGroupHeartbeatRequest, member_id: str, max_size: int
) -> Steps[ConsumerMember]:
    """Return the member that sent a heartbeat, a new one if it joins.

    Raises KafkaError if the member is unknown or fenced, or the group is full.
    """
    group, instance_id, joins = decision.draft, message.instance_id, message.member_epoch == JOIN_EPOCH
    check_size(group, member_id, max_size)
    if instance_id is None:
        new = ConsumerMember(member_id)
        if joins:  # also a member that was fenced
            return group.members.get(member_id, new)
        member = known_member(group, member_id)
        _check_epoch(member, message)
        return member
    if not joins:
        member = known_static_member(group, member_id, instance_id)
        _check_epoch(member, message)
        return member
    before = group.static_members.get(instance_id)
    if before is None:
        return group.members.get(member_id, ConsumerMember(member_id))
    left = group.members[before]
    # A static member of the classic protocol leaves without a request, so its epoch does not become -2.
    if left.classic is None and left.member_epoch != LEAVE_STATIC_EPOCH:
        text = (
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {left.member_id} member."
        )
        raise KafkaError(ErrorCode.UNRELEASED_INSTANCE_ID, text)
    return (yield from replaced(decision, left, member_id))


def check_size(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    """Raises KafkaError with GROUP_MAX_SIZE_REACHED if the group has no place for a new member."""
    if len(group.members) >= max_size and member_id not in group.members:
        text = f"The consumer group has reached its maximum capacity of {max_size} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, text)


def replaced(decision: GroupDecision, left: ConsumerMember, member_id: str) -> Steps[ConsumerMember]:
    """Give a static member that returns the partitions of its previous member id."""
    group_id = decision.draft.group_id
    member = attrs.evolve(left, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH)
    target = decision.draft.target.get(left.member_id, {})
    yield from decision.add(
        *member_tombstones(group_id, left.member_id),
        (yield from member_metadata(group_id, member)),
        target_assignment(group_id, member_id, target),
        current_assignment(group_id, member),
    )
    return member


def _check_epoch(member: ConsumerMember, message: ConsumerGroupHeartbeatRequest) -> None:
    """A member may repeat its previous epoch, since the response with the new one may be lost.

    Raises KafkaError FENCED_MEMBER_EPOCH.
    """
    received, known = message.member_epoch, member.member_epoch
    if received == known:
        return
    if received < known and received == member.previous_member_epoch and _owns_only_assigned(member, message):
        return
    text = (
        f"The consumer group member has a {'greater' if received > known else 'smaller'} member epoch ({received}) "
        f"than the one known by the group coordinator ({known}). The member must abandon all its partitions and rejoin."
    )
    raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, text)


def _owns_only_assigned(member: ConsumerMember, message: ConsumerGroupHeartbeatRequest) -> bool:
    if message.topic_partitions is None:
        return False
    return all(
        partition in member.assigned.get(topic.topic_id, ())
        for topic in message.topic_partitions
        for partition in topic.partitions
    )
