"""ConsumerGroupHeartbeat: join, leave, and all steps of a member between them (KIP-848).

1. The member joins or changes its subscription. The group epoch rises.
2. If the group epoch is above the assignment epoch, the coordinator computes a new target assignment, at most once in
   ``group.consumer.assignment.interval.ms``.
3. The coordinator reconciles the member with its target.

Source: ``GroupMetadataManager.consumerGroupHeartbeat``.
"""

from __future__ import annotations

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.group import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroup,
    ConsumerMember,
)
from kraft.coordinator.groups.consumer.membership import check, known_member, known_static_member, sender
from kraft.coordinator.groups.consumer.migration import begin_upgrade, complete_upgrade, downgraded, upgrade
from kraft.coordinator.groups.consumer.reconciliation import Reconciliation
from kraft.coordinator.groups.consumer.records import (
    current_assignment,
    group_metadata,
    member_metadata,
    member_tombstones,
)
from kraft.coordinator.groups.consumer.regexes import InvalidRegexHeartbeat, drop_unused, search_if_due
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.consumer.target import assign, may_assign, metadata_hash
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import Group
from kraft.coordinator.groups.rebalance import Step
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, OwnedTopicPartitions
from kraft.messages.consumer_group_heartbeat_response import (
    AssignedTopicPartitions,
    ConsumerGroupHeartbeatResponse,
    HeartbeatAssignment,
)
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError


def heartbeat(
    step: Step, classic: dict[str, Group], consumers: ConsumerGroups, request: CoordinatorRequest
) -> Steps[None]:
    """Reply once the records of the decision are committed, and those before it. ``classic`` are the other groups."""
    invalid_regex = None
    if isinstance(request.message, InvalidRegexHeartbeat):
        invalid_regex = request.message.refused
        request = attrs.evolve(request, message=request.message.message)
    message: ConsumerGroupHeartbeatRequest = request.message
    try:
        check(message, request.version)
        if message.member_epoch < JOIN_EPOCH:
            response = yield from _leave(step, classic, consumers, message)
        else:
            response = yield from _heartbeat(step, classic.get(message.group_id), consumers, request, invalid_regex)
    except KafkaError as refused:
        # The refusal may rest on a record that is lost with the leadership, such as a new epoch. With too few replicas
        # in sync, the records may stay uncommitted for as long.
        reply = step.reply if refused.code is ErrorCode.COORDINATOR_NOT_AVAILABLE else step.reply_once_committed
        reply(request.token, ConsumerGroupHeartbeatResponse(error_code=refused.code, error_message=refused.message))
        return
    if message.group_id in classic and message.group_id in consumers.groups:
        yield from complete_upgrade(step, classic, consumers, message.group_id)
    step.reply_once_committed(request.token, response)


def _opened(
    step: Step, classic: Group | None, consumers: ConsumerGroups, message: ConsumerGroupHeartbeatRequest
) -> Steps[GroupDecision]:
    """Begin a decision on the group that the request names. The first member creates it, or converts a classic one.

    Raises KafkaError GROUP_ID_NOT_FOUND.
    """
    group_id = message.group_id
    known = consumers.groups.get(group_id)
    if known is not None:
        return GroupDecision(step, group_id, known)
    if message.member_epoch != JOIN_EPOCH:
        raise _not_found(group_id)
    if classic is None:
        return GroupDecision(step, group_id, ConsumerGroup(group_id))
    decision = begin_upgrade(step, classic)
    yield from upgrade(decision, classic, consumers.image())
    return decision


def _heartbeat(
    step: Step,
    classic: Group | None,
    consumers: ConsumerGroups,
    request: CoordinatorRequest,
    invalid_regex: KafkaError | None,
) -> Steps[ConsumerGroupHeartbeatResponse]:
    message: ConsumerGroupHeartbeatRequest = request.message
    image = consumers.image()
    decision = yield from _opened(step, classic, consumers, message)
    member_id = message.member_id or step.new_uuid()
    before = yield from sender(decision, message, member_id, step.settings.consumer.max_size)
    if invalid_regex is not None:
        raise invalid_regex
    member = _described(before, request)
    after = yield from advance(decision, consumers, before, member, message.topic_partitions)
    consumers.decided(decision)
    consumers.saw(message.group_id, image)
    search_if_due(step, consumers, decision.draft, member, image)
    # A classic member that goes on in this protocol has no rebalance timeout yet.
    moved = after is not member or before.classic is not None
    consumers.alive(step, message.group_id, after, moved=moved)
    default_s = step.settings.consumer.heartbeat_interval_s
    interval_s = consumers.configured_s(step.settings, message.group_id, "consumer.heartbeat.interval.ms", default_s)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=after.member_epoch, heartbeat_interval_ms=round(interval_s * 1000)
    )
    if message.member_epoch == JOIN_EPOCH or _is_full(message) or _partitions(after) != _partitions(before):
        response.assignment = yield from _assignment(after)
    return response


def advance(
    decision: GroupDecision,
    consumers: ConsumerGroups,
    before: ConsumerMember,
    member: ConsumerMember,
    owned: list[OwnedTopicPartitions] | None,
) -> Steps[ConsumerMember]:
    """Go through the three steps with a member that was ``before``, and return it after them.

    ``owned`` are the partitions that it has by its own account.
    """
    image = consumers.image()
    if member != before or member.member_id not in decision.draft.members:
        yield from decision.add((yield from member_metadata(decision.group_id, member)))
    names_changed, regex_changed = member.topics != before.topics, member.regex != before.regex
    if regex_changed:
        yield from drop_unused(decision, [before])
    # The topics of a new expression are not known yet: the epoch rises once they are found.
    is_known = not member.regex or member.regex in decision.draft.regexes
    yield from _raise_epoch(decision, consumers, image, bump=names_changed or (regex_changed and is_known))
    if _must_assign(decision, consumers):
        yield from assign(decision, image)
    return (yield from _reconciled(decision, member, image, owned, subscription_changed=names_changed or regex_changed))


def _described(member: ConsumerMember, request: CoordinatorRequest) -> ConsumerMember:
    """Return the member with the fields that the request sets. Null and -1 leave a field as it was."""
    message: ConsumerGroupHeartbeatRequest = request.message
    limit, names = message.rebalance_timeout_ms, message.subscribed_topic_names
    return attrs.evolve(
        member,
        instance_id=member.instance_id if message.instance_id is None else message.instance_id,
        rack_id=member.rack_id if message.rack_id is None else message.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_s=member.rebalance_timeout_s if limit == -1 else limit / 1000,
        topics=member.topics if names is None else frozenset(names),
        regex=member.regex if message.subscribed_topic_regex is None else message.subscribed_topic_regex,
        assignor=member.assignor if message.server_assignor is None else message.server_assignor,
        classic=None,
    )


def _raise_epoch(decision: GroupDecision, consumers: ConsumerGroups, image: Image, *, bump: bool) -> Steps[None]:
    """Raise the group epoch if a subscription or the metadata of a subscribed topic has changed."""
    group = decision.draft
    if not bump and consumers.has_seen(group.group_id, image):
        return
    found = yield from metadata_hash(group, image)
    if bump or found != group.metadata_hash:
        yield from decision.add(group_metadata(group.group_id, group.epoch + 1, found))
        decision.step.count(Counted.CONSUMER_REBALANCES)


def _must_assign(decision: GroupDecision, consumers: ConsumerGroups) -> bool:
    """Return whether the target is older than the group epoch, and its interval is over."""
    group, settings = decision.draft, decision.step.settings
    if group.assignment_epoch >= group.epoch:
        return False
    default_s = settings.consumer.assignment_interval_s
    interval_s = consumers.configured_s(settings, group.group_id, "consumer.assignment.interval.ms", default_s)
    return may_assign(decision.step.timestamp_ms, group.assignment_timestamp_ms, interval_s)


def _reconciled(
    decision: GroupDecision,
    member: ConsumerMember,
    image: Image,
    owned: list[OwnedTopicPartitions] | None,
    *,
    subscription_changed: bool,
) -> Steps[ConsumerMember]:
    group = decision.draft
    if member.is_reconciled_to(group.assignment_epoch) and not subscription_changed:
        return member
    reconciliation = Reconciliation(group, member, image, owned)
    after = yield from reconciliation.next(subscription_changed=subscription_changed)
    if after != member:
        yield from decision.add(current_assignment(group.group_id, after))
    return after


def _is_full(message: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a request sets all fields. A client that got an error repeats all of them."""
    subscribes = message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None
    return message.rebalance_timeout_ms != -1 and subscribes and message.topic_partitions is not None


def _partitions(member: ConsumerMember) -> dict[object, set[int]]:
    return {topic_id: set(epochs) for topic_id, epochs in member.assigned.items()}


def _assignment(member: ConsumerMember) -> Steps[HeartbeatAssignment]:
    assignment = HeartbeatAssignment()
    for topic_id, epochs in sorted(member.assigned.items()):
        assignment.topic_partitions.append(AssignedTopicPartitions(topic_id, sorted(epochs)))
        yield 1 + len(epochs) // 100
    return assignment


def _not_found(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")


def _leave(
    step: Step, classic: dict[str, Group], consumers: ConsumerGroups, message: ConsumerGroupHeartbeatRequest
) -> Steps[ConsumerGroupHeartbeatResponse]:
    """Remove a member. A static member that leaves with -2 stays, with its partitions, until its session ends."""
    group = consumers.groups.get(message.group_id)
    if group is None:
        raise _not_found(message.group_id)
    if message.instance_id is None:
        member = known_member(group, message.member_id)
    else:
        member = known_static_member(group, message.member_id, message.instance_id)
    if message.member_epoch == LEAVE_STATIC_EPOCH:
        decision = GroupDecision(step, group.group_id, group)
        left = attrs.evolve(member, member_epoch=LEAVE_STATIC_EPOCH, revoking={})
        yield from decision.add(current_assignment(group.group_id, left))
        consumers.decided(decision)
    else:
        yield from fence(step, classic, consumers, group, member)
    return ConsumerGroupHeartbeatResponse(member_id=message.member_id, member_epoch=message.member_epoch)


def fence(
    step: Step, classic: dict[str, Group], consumers: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember
) -> Steps[None]:
    """Remove a member and raise the group epoch. The next heartbeat of another member computes the new target.

    If the others are classic members, the group becomes classic instead, as ``downgraded`` says.

    Raises KafkaError COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
    """
    if (yield from downgraded(step, classic, consumers, group, {member.member_id: member})):
        return
    decision = GroupDecision(step, group.group_id, group)
    yield from decision.add(*member_tombstones(group.group_id, member.member_id))
    yield from drop_unused(decision, [member])
    found = yield from metadata_hash(decision.draft, consumers.image())
    yield from decision.add(group_metadata(group.group_id, group.epoch + 1, found))
    consumers.decided(decision)


def fence_late(step: Step, classic: dict[str, Group], consumers: ConsumerGroups, group_id: str) -> Steps[None]:
    """Fence the members whose session or rebalance timeout has passed. If that cannot be appended now, try again."""
    for member_id in consumers.late(step.now, group_id):
        group = consumers.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        try:
            if group is not None and member is not None:
                yield from fence(step, classic, consumers, group, member)
        except KafkaError:
            consumers.retry(step.now, group_id, member_id)
        yield 1
