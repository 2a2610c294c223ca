"""ShareGroupHeartbeat: join, leave, and all steps of a member between them (KIP-932).

1. The member joins or changes its subscription. The group epoch rises.
2. If the group epoch is above the assignment epoch, the coordinator computes a new target assignment, at most once in
   ``group.share.assignment.interval.ms``.
3. The member gets its target at once: it need not wait until others have given up a partition.
4. The coordinator asks for the states of the subscribed partitions that have none.

Source: ``GroupMetadataManager.shareGroupHeartbeat``.
"""

from __future__ import annotations

from collections.abc import Container
from uuid import UUID

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.assignors import AssignedMember
from kraft.coordinator.groups.consumer.metadata_hash import hash_of_topics
from kraft.coordinator.groups.consumer.target import may_assign
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.share.assignor import assign_simple
from kraft.coordinator.groups.share.decision import ShareDecision
from kraft.coordinator.groups.share.group import JOIN_EPOCH, LEAVE_EPOCH, MAX_MEMBER_ID, ShareGroup, ShareMember
from kraft.coordinator.groups.share.records import (
    assignment_epoch,
    current_assignment,
    group_metadata,
    member_metadata,
    member_tombstones,
    target_assignment,
)
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.coordinator.groups.share.states import forget_deleted, initialize_missing
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.share_group_heartbeat_response import (
    ShareAssignment,
    SharedTopicPartitions,
    ShareGroupHeartbeatResponse,
)
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

Others = tuple[Container[str], ...]


def heartbeat(step: Step, others: Others, shares: ShareGroups, request: CoordinatorRequest) -> Steps[None]:
    """Reply once the records of the decision are committed. ``others`` are the groups of other types."""
    message: ShareGroupHeartbeatRequest = request.message
    try:
        _check(message)
        if any(message.group_id in groups for groups in others):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {message.group_id} is not a share group.")
        if message.member_epoch == LEAVE_EPOCH:
            response = yield from _leave(step, shares, message)
        else:
            response = yield from _heartbeat(step, shares, request)
    except KafkaError as refused:
        step.reply(request.token, ShareGroupHeartbeatResponse(error_code=refused.code, error_message=refused.message))
        return
    step.reply_once_committed(request.token, response)


def _check(message: ShareGroupHeartbeatRequest) -> None:
    """Raises KafkaError with INVALID_REQUEST."""
    _refuse_if(message.member_id == "", "MemberId can't be empty.")
    _refuse_if(len(message.member_id) > MAX_MEMBER_ID, "MemberId is too long.")
    _refuse_if(message.group_id == "", "GroupId can't be empty.")
    _refuse_if(message.rack_id == "", "RackId can't be empty.")
    if message.member_epoch == JOIN_EPOCH:
        _refuse_if(not message.subscribed_topic_names, "SubscribedTopicNames must be set in first request.")
    _refuse_if(message.member_epoch < LEAVE_EPOCH, "MemberEpoch is invalid.")


def _refuse_if(wrong: bool, text: str) -> None:
    if wrong:
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def _heartbeat(step: Step, shares: ShareGroups, request: CoordinatorRequest) -> Steps[ShareGroupHeartbeatResponse]:
    message: ShareGroupHeartbeatRequest = request.message
    group_id, image = message.group_id, shares.image()
    known = shares.groups.get(group_id)
    if known is None and message.member_epoch != JOIN_EPOCH:
        raise _not_found(group_id)
    decision = ShareDecision(step, group_id, known or ShareGroup(group_id))
    before = _sender(decision.draft, message, step.settings.share.max_size)
    names = message.subscribed_topic_names
    member = attrs.evolve(
        before,
        rack_id=before.rack_id if message.rack_id is None else message.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=before.topics if names is None else frozenset(names),
    )
    if not shares.has_seen(group_id, image):
        yield from forget_deleted(decision, image)
    pending = decision.draft.assignment_epoch >= decision.draft.epoch and decision.draft.has_unassigned
    if member != before:
        yield from decision.add(member_metadata(group_id, member))
    bumped = yield from _raise_epoch(decision, shares, image, bump=pending or member.topics != before.topics)
    if _must_assign(decision, shares):
        yield from _assign(decision, image)
    after = _reconciled(decision.draft, member, image, bumped=bumped)
    if after != member:
        yield from decision.add(current_assignment(group_id, after))
    yield from initialize_missing(decision, shares, image)
    shares.decided(decision)
    shares.saw(group_id, image)
    shares.alive(step.now, group_id, member.member_id, step.settings)
    default_s = step.settings.share.heartbeat_interval_s
    interval_s = shares.configured_s(step.settings, group_id, "share.heartbeat.interval.ms", default_s)
    response = ShareGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=after.member_epoch, heartbeat_interval_ms=round(interval_s * 1000)
    )
    if names is not None or after.assigned != before.assigned:
        response.assignment = ShareAssignment(
            [SharedTopicPartitions(topic_id, sorted(after.assigned[topic_id])) for topic_id in sorted(after.assigned)]
        )
    return response


def _sender(group: ShareGroup, message: ShareGroupHeartbeatRequest, max_size: int) -> ShareMember:
    """Return the member that sent a heartbeat, a new one if it joins.

    Raises KafkaError GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH.
    """
    member = group.members.get(message.member_id)
    if member is None and len(group.members) >= max_size:
        text = f"The share group has reached its maximum capacity of {max_size} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
    epoch = message.member_epoch
    if epoch == JOIN_EPOCH:
        return member or ShareMember(message.member_id)
    member = _known_member(group, message.member_id)
    # The response with the newer epoch may have been lost, so the previous one is accepted.
    if epoch not in (member.member_epoch, member.previous_member_epoch):
        size = "greater" if epoch > member.member_epoch else "smaller"
        text = (
            f"The share group member has a {size} member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.member_epoch}). The member must abandon all its partitions and rejoin."
        )
        raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, text)
    return member


def _known_member(group: ShareGroup, member_id: str) -> ShareMember:
    member = group.members.get(member_id)
    if member is None:
        text = f"Member {member_id} is not a member of group {group.group_id}."
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, text)
    return member


def _not_found(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")


def _raise_epoch(decision: ShareDecision, shares: ShareGroups, image: Image, *, bump: bool) -> Steps[bool]:
    """Raise the group epoch if a subscription, an initialized partition or the metadata of a topic is new."""
    group = decision.draft
    if not bump and shares.has_seen(group.group_id, image):
        return False
    found = yield from hash_of_topics(group.subscribed_topics(), image)
    if not bump and found == group.metadata_hash:
        return False
    yield from decision.add(group_metadata(group.group_id, group.epoch + 1, found))
    decision.step.count(Counted.SHARE_REBALANCES)
    return True


def _must_assign(decision: ShareDecision, shares: ShareGroups) -> bool:
    """Return whether the target is older than the group epoch, and its interval is over."""
    group, settings = decision.draft, decision.step.settings
    if group.assignment_epoch >= group.epoch:
        return False
    default_s = settings.share.assignment_interval_s
    interval_s = shares.configured_s(settings, group.group_id, "share.assignment.interval.ms", default_s)
    return may_assign(decision.step.timestamp_ms, group.assignment_timestamp_ms, interval_s)


def _assign(decision: ShareDecision, image: Image) -> Steps[None]:
    """Compute the target assignment for the group's epoch, and add the records of what changes."""
    group = decision.draft
    members = []
    for member_id, member in sorted(group.members.items()):
        topics = frozenset(image.topic_ids[name] for name in member.topics if name in image.topic_ids)
        members.append(AssignedMember(member_id, None, topics, group.target.get(member_id, {})))
        yield 1 + len(topics)
    initialized = {topic_id: topic.partitions for topic_id, topic in group.states.initialized.items()}
    shares = yield from assign_simple(members, initialized)
    for member_id, share in sorted(shares.items()):
        target = {topic_id: frozenset(partitions) for topic_id, partitions in share.items()}
        if target != group.target.get(member_id):
            yield from decision.add(target_assignment(group.group_id, member_id, target))
        yield 1
    yield from decision.add(assignment_epoch(group.group_id, group.epoch, decision.step.timestamp_ms))


def _reconciled(group: ShareGroup, member: ShareMember, image: Image, *, bumped: bool) -> ShareMember:
    """Return the member at the assignment epoch, with the part of its target to which it subscribes.

    Source: ``ShareGroupAssignmentBuilder``.
    """
    if member.member_epoch == group.assignment_epoch and not bumped:
        return member
    subscribed: set[UUID] = {image.topic_ids[name] for name in member.topics if name in image.topic_ids}
    target = group.target.get(member.member_id, {})
    assigned = {topic_id: partitions for topic_id, partitions in target.items() if topic_id in subscribed}
    if member.member_epoch == group.assignment_epoch:
        return attrs.evolve(member, assigned=assigned)
    return attrs.evolve(
        member,
        member_epoch=group.assignment_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=assigned,
    )


def _leave(step: Step, shares: ShareGroups, message: ShareGroupHeartbeatRequest) -> Steps[ShareGroupHeartbeatResponse]:
    group = shares.groups.get(message.group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {message.group_id} not found.")
    yield from _fence(step, shares, group, _known_member(group, message.member_id))
    return ShareGroupHeartbeatResponse(member_id=message.member_id, member_epoch=message.member_epoch)


def _fence(step: Step, shares: ShareGroups, group: ShareGroup, member: ShareMember) -> Steps[None]:
    """Remove a member and raise the group epoch. The next heartbeat of another member computes the new target.

    Raises KafkaError COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
    """
    decision = ShareDecision(step, group.group_id, group)
    yield from decision.add(*member_tombstones(group.group_id, member.member_id))
    found = yield from hash_of_topics(decision.draft.subscribed_topics(), shares.image())
    yield from decision.add(group_metadata(group.group_id, group.epoch + 1, found))
    shares.decided(decision)


def fence_late(step: Step, shares: ShareGroups, group_id: str) -> Steps[None]:
    """Fence the members whose session has ended. If that cannot be appended now, try again."""
    for member_id in shares.late(step.now, group_id):
        group = shares.groups[group_id]
        try:
            yield from _fence(step, shares, group, group.members[member_id])
        except KafkaError:
            shares.retry(step.now, group_id, member_id)
        yield 1
