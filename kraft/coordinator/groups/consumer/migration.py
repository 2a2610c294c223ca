"""A classic group becomes a consumer group, and back, while its members stay (KIP-848, "Online migration").

The first member of the consumer protocol that joins converts the group. Once the last one is gone, the group is classic
again. ``group.consumer.migration.policy`` allows each direction. Source: ``convertToConsumerGroup`` and
``convertToClassicGroup`` of ``GroupMetadataManager``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.embedded import (
    CustomAssignor,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    owned_by_id,
)
from kraft.coordinator.groups.consumer.group import FIRST_EPOCH, ConsumerGroup, ConsumerMember, MemberState
from kraft.coordinator.groups.consumer.records import (
    assignment_epoch,
    current_assignment,
    group_metadata,
    group_tombstones,
    member_metadata,
    target_assignment,
)
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.group import CONSUMER_PROTOCOL, Group, GroupMember, GroupState
from kraft.coordinator.groups.rebalance import Step, join_error, prepare
from kraft.coordinator.groups.records import GroupRecord, group_value
from kraft.coordinator.groups.subscription import subscribed_topics
from kraft.messages.consumer_group_heartbeat_request import OwnedTopicPartitions
from kraft.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError

_PARTITIONS_AT_ONCE = 100
"""The partitions of a topic that are compared in a step."""


def begin_upgrade(step: Step, group: Group) -> GroupDecision:
    """Begin the decision that makes a consumer group of a classic one. A group without members leaves but its id.

    Raises KafkaError GROUP_ID_NOT_FOUND if the group has members and may not be converted.
    """
    settings = step.settings.consumer
    if group.state is not GroupState.EMPTY and not (
        settings.may_upgrade and group.protocol_type == CONSUMER_PROTOCOL and len(group.members) <= settings.max_size
    ):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
    decision = GroupDecision(step, group.group_id, ConsumerGroup(group.group_id))
    decision.add_classic(GroupRecord(group.group_id, None))
    return decision


def upgrade(decision: GroupDecision, group: Group, image: Image) -> Steps[None]:
    """Add the members with the partitions that they have. The generation becomes the epoch of group and members.

    With the cooperative protocol (KIP-429) a member may still own what the last assignment took from it: it must revoke
    that before another member gets it. Apache Kafka takes such partitions for free.

    Raises KafkaError GROUP_ID_NOT_FOUND if a subscription or an assignment is unreadable, or has data of its assignor.
    """
    if group.state is GroupState.EMPTY:
        return
    group_id, epoch = group.group_id, group.generation
    members: list[ConsumerMember] = []
    claims: list[_Claims] = []
    for each in group.members.values():
        try:
            subscription = yield from _subscription(group, each)
            members.append(_consumer_member(group, each, subscription, image))
            claims.append(_Claims(subscription.generation_id, owned_by_id(subscription, image)))
        except DecodeError:
            text = f"Cannot upgrade the classic group {group_id}: the embedded consumer protocol is malformed."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text) from None
        except CustomAssignor:
            text = f"Cannot upgrade the classic group {group_id}: its assignor adds data to assignments."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text) from None
        yield 1
    members = yield from _revoking(members, claims)
    for member in members:
        yield from decision.add((yield from member_metadata(group_id, member)))
    # A group whose first rebalance is not complete has generation 0. No member may get epoch 0, which joins.
    yield from decision.add(group_metadata(group_id, max(epoch, FIRST_EPOCH), 0))
    for member in members:
        target = {topic_id: frozenset(epochs) for topic_id, epochs in member.assigned.items()}
        yield from decision.add(target_assignment(group_id, member.member_id, target))
    # With timestamp 0 the first target of the coordinator need not wait for the assignment interval.
    yield from decision.add(assignment_epoch(group_id, epoch, 0))
    for member in members:
        yield from decision.add(current_assignment(group_id, member))


@attrs.frozen
class _Claims:
    """The partitions that a member owned when it joined, by its own account, since a generation."""

    generation: int
    owned: list[OwnedTopicPartitions]


def _revoking(members: list[ConsumerMember], claims: list[_Claims]) -> Steps[list[ConsumerMember]]:
    """Return the members with the partitions that they owned when they joined, and nobody was assigned."""
    taken = {(topic_id, each) for member in members for topic_id, epochs in member.assigned.items() for each in epochs}
    after = {}
    for claim, member in sorted(zip(claims, members, strict=True), key=lambda pair: -pair[0].generation):
        revoking: dict[UUID, dict[int, int]] = {}
        for topic in claim.owned:
            free = [each for each in topic.partitions if (topic.topic_id, each) not in taken]
            taken.update((topic.topic_id, each) for each in free)
            if free:
                revoking[topic.topic_id] = dict.fromkeys(free, member.member_epoch)
            yield 1 + len(topic.partitions) // _PARTITIONS_AT_ONCE
        state = MemberState.UNREVOKED_PARTITIONS if revoking else member.state
        after[member.member_id] = attrs.evolve(member, revoking=revoking, state=state)
    return [after[member.member_id] for member in members]


def _subscription(group: Group, member: GroupMember) -> Steps[ConsumerProtocolSubscription]:
    """Raises DecodeError."""
    # No protocol is elected before the first rebalance is complete.
    return (yield from decode_subscription(member.metadata(group.protocol_name) or member.protocols[0][1]))


def _consumer_member(
    group: Group, member: GroupMember, subscription: ConsumerProtocolSubscription, image: Image
) -> ConsumerMember:
    """Raises DecodeError, CustomAssignor."""
    epoch = group.generation
    assigned = decode_assignment(member.assignment, image)
    return ConsumerMember(
        member.member_id,
        member_epoch=epoch,
        previous_member_epoch=epoch,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_s=member.rebalance_timeout_s,
        topics=frozenset(subscription.topics),
        classic=ClassicMemberMetadata(
            round(member.session_timeout_s * 1000), [ClassicProtocol(*each) for each in member.protocols]
        ),
        assigned={topic_id: dict.fromkeys(numbers, epoch) for topic_id, numbers in assigned.items()},
    )


def complete_upgrade(step: Step, classic: dict[str, Group], consumers: ConsumerGroups, group_id: str) -> Steps[None]:
    """Remove the classic group, and let the members whose requests are parked join again."""
    group = classic.pop(group_id)
    for member in group.members.values():
        if member.join is not None:
            refused = join_error(member.join_version, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            step.answer_join(member, refused)
        if member.sync is not None:
            step.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        consumers.start(step.now, step.settings, group_id, member.member_id)
        yield 1


def is_downgrade(step: Step, group: ConsumerGroup, left: Mapping[str, ConsumerMember]) -> bool:
    """Return whether the group becomes classic without ``left``."""
    others = [each for each in group.members.values() if each.member_id not in left]
    return (
        any(each.classic is None for each in left.values())
        and step.settings.consumer.may_downgrade
        and 0 < len(others) <= step.settings.group_max_size
        and all(each.classic is not None for each in others)
    )


def downgraded(
    step: Step,
    classic: dict[str, Group],
    consumers: ConsumerGroups,
    group: ConsumerGroup,
    left: Mapping[str, ConsumerMember],
) -> Steps[bool]:
    """Make the group classic without ``left`` if the others are classic members, and let these rebalance. Return
    whether it is classic. It stays as it is if they cannot form one: a subscription is malformed, or the record would
    be too large.

    Raises KafkaError COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
    """
    if not is_downgrade(step, group, left):
        return False
    try:
        decision = GroupDecision(step, group.group_id, group)
        yield from downgrade(step, classic, consumers, decision, left, rebalances=True)
    except KafkaError as refused:
        if refused.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            raise
        return False
    return True


def downgrade(
    step: Step,
    classic: dict[str, Group],
    consumers: ConsumerGroups,
    decision: GroupDecision,
    left: Container[str],
    *,
    rebalances: bool,
) -> Steps[None]:
    """Make a classic group of all members but ``left``. Each keeps the partitions that it has.

    Apache Kafka gives each its target at once. Here members that are not reconciled rebalance first, and until then the
    group knows who has a partition: it may be upgraded again.

    Raises KafkaError if the records cannot be appended, and GROUP_ID_NOT_FOUND if a subscription is unreadable.
    """
    before = decision.draft
    group = Group(
        before.group_id,
        state=GroupState.STABLE,
        state_since_ms=step.timestamp_ms,
        generation=before.epoch,
        protocol_type=CONSUMER_PROTOCOL,
    )
    for member in before.members.values():
        if member.member_id not in left:
            group.add(_classic_member(member))
        yield 1
    group.protocol_name = yield from group.elect_protocol()
    group.topics = yield from subscribed_topics(group)
    image = consumers.image()
    for each in group.members.values():
        has = _held(before.members[each.member_id])
        try:
            each.assignment = encode_assignment(has, each.metadata(group.protocol_name), image)
        except DecodeError:
            text = f"Cannot downgrade the consumer group {group.group_id}: a subscription is malformed."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text) from None
        each.alive(step.now)
        yield 1
    yield from decision.add(*group_tombstones(before))
    decision.add_classic(GroupRecord(group.group_id, (yield from group_value(group))))
    consumers.decided(decision)
    classic[group.group_id] = group
    others = (member for member_id, member in before.members.items() if member_id not in left)
    if rebalances or not all(member.is_reconciled_to(before.epoch) for member in others):
        yield from prepare(step, group)


def _held(member: ConsumerMember) -> dict[UUID, list[int]]:
    """Return the partitions that a member has, also those that it must give up."""
    held: dict[UUID, list[int]] = {}
    for owned in (member.assigned, member.revoking):
        for topic_id, epochs in owned.items():
            held.setdefault(topic_id, []).extend(epochs)
    return held


def _classic_member(member: ConsumerMember) -> GroupMember:
    assert member.classic is not None
    return GroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_s=member.rebalance_timeout_s,
        session_timeout_s=member.classic.session_timeout_ms / 1000,
        protocol_type=CONSUMER_PROTOCOL,
        protocols=tuple((each.name, bytes(each.metadata)) for each in member.classic.supported_protocols),
    )
