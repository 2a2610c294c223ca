"""Classic members of a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup during a migration (KIP-848).

The generation of a classic member is its member epoch. Instead of a joint rebalance, each member joins again when its
heartbeat gets REBALANCE_IN_PROGRESS, and gets its own part of the target assignment. No member leads. Source:
``GroupMetadataManager.classicGroupJoinToConsumerGroup`` and the functions of the other requests.
"""

from __future__ import annotations

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.decision import GroupDecision
from kraft.coordinator.groups.consumer.embedded import decode_subscription, encode_assignment, owned_by_id
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerMember, MemberState
from kraft.coordinator.groups.consumer.heartbeat import advance
from kraft.coordinator.groups.consumer.membership import check_size, known_member, known_static_member, replaced
from kraft.coordinator.groups.consumer.migration import downgrade, downgraded, is_downgrade
from kraft.coordinator.groups.consumer.records import group_metadata, member_tombstones
from kraft.coordinator.groups.consumer.regexes import drop_unused
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.consumer.target import metadata_hash
from kraft.coordinator.groups.group import CONSUMER_PROTOCOL, Group
from kraft.coordinator.groups.join import ID_FIRST_VERSION, check_session_timeout
from kraft.coordinator.groups.rebalance import Step, join_error
from kraft.coordinator.groups.session import BATCHED_LEAVE_VERSION, PROTOCOL_VERSION
from kraft.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.steps import Steps
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError


def join(step: Step, classic: dict[str, Group], consumers: ConsumerGroups, request: CoordinatorRequest) -> Steps[None]:
    """Reply with the member's epoch as generation. SyncGroup then returns its partitions."""
    message: JoinGroupRequest = request.message
    member_id = message.member_id or step.new_uuid()
    try:
        check_session_timeout(step, message)
        _check_policy(step)
        check_size(consumers.groups[message.group_id], member_id, step.settings.consumer.max_size)
        subscription = yield from _subscription(consumers.groups[message.group_id], message)
        is_new = not message.member_id and message.group_instance_id is None
        if is_new and request.version >= ID_FIRST_VERSION:
            raise KafkaError(ErrorCode.MEMBER_ID_REQUIRED)
        after = yield from _joined(step, classic, consumers, request, member_id, subscription)
    except KafkaError as refused:
        shown = member_id if refused.code is ErrorCode.MEMBER_ID_REQUIRED else message.member_id
        step.reply_once_committed(request.token, join_error(request.version, refused.code, shown))
        return
    response = JoinGroupResponse(
        generation_id=after.member_epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=message.protocols[0].name,
        leader="",
        member_id=member_id,
    )
    step.reply_once_committed(request.token, response)


def _check_policy(step: Step) -> None:
    """Raises KafkaError INCONSISTENT_GROUP_PROTOCOL if ``group.consumer.migration.policy`` is ``disabled``: a consumer
    group then has no classic members (``throwIfClassicMemberCannotJoinConsumerGroup``).
    """
    settings = step.settings.consumer
    if not (settings.may_upgrade or settings.may_downgrade):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _subscription(group: ConsumerGroup, message: JoinGroupRequest) -> Steps[ConsumerProtocolSubscription]:
    """Return the subscription, which is the same in all protocols.

    Raises KafkaError INCONSISTENT_GROUP_PROTOCOL if the classic members have no protocol in common with it, or if it is
    unreadable.
    """
    names = {protocol.name for protocol in message.protocols}
    for member in group.members.values():
        if member.classic is not None and member.member_id != message.member_id:
            names &= {protocol.name for protocol in member.classic.supported_protocols}
    if message.protocol_type != CONSUMER_PROTOCOL or not names:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        return (yield from decode_subscription(message.protocols[0].metadata))
    except DecodeError:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None


def _joined(
    step: Step,
    classic: dict[str, Group],
    consumers: ConsumerGroups,
    request: CoordinatorRequest,
    member_id: str,
    subscription: ConsumerProtocolSubscription,
) -> Steps[ConsumerMember]:
    message: JoinGroupRequest = request.message
    group = consumers.groups[message.group_id]
    decision = GroupDecision(step, message.group_id, group)
    instance_id = message.group_instance_id
    left = None
    if instance_id is None:
        if member_id not in group.members and subscription.owned_partitions:
            # It was fenced, and others may have its partitions by now. Apache Kafka lets it keep them until SyncGroup.
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        before = group.members.get(member_id, ConsumerMember(member_id))
    elif message.member_id:
        before = known_static_member(group, member_id, instance_id)
    elif instance_id in group.static_members:
        left = group.members[group.static_members[instance_id]]
        before = yield from replaced(decision, left, member_id)
    else:
        before = ConsumerMember(member_id)
    timeout_s = message.rebalance_timeout_ms / 1000
    member = attrs.evolve(
        before,
        instance_id=instance_id or before.instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_s=timeout_s if timeout_s >= 0 else message.session_timeout_ms / 1000,
        topics=frozenset(subscription.topics),
        regex="",
        assignor=None,
        classic=ClassicMemberMetadata(
            message.session_timeout_ms,
            [ClassicProtocol(each.name, bytes(each.metadata)) for each in message.protocols],
        ),
    )
    image = consumers.image()  # before the steps, during which a newer one may come
    owned = owned_by_id(subscription, image)
    after = yield from advance(decision, consumers, before, member, owned)
    gone = {} if left is None else {left.member_id: left}
    if is_downgrade(step, decision.draft, gone):
        yield from downgrade(step, classic, consumers, decision, gone, rebalances=False)
        return after
    consumers.decided(decision)
    consumers.saw(message.group_id, image)
    consumers.alive(step, message.group_id, after, moved=False)
    consumers.await_request(step, message.group_id, after)
    return after


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int | None = None
) -> ConsumerMember:
    """Return the member that sent a classic request.

    Raises KafkaError UNKNOWN_MEMBER_ID, also for a member of the consumer protocol, FENCED_INSTANCE_ID, or
    ILLEGAL_GENERATION.
    """
    if instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static_member(group, member_id, instance_id)
    if member.classic is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if generation is not None and generation != member.member_epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return member


def sync(step: Step, consumers: ConsumerGroups, request: CoordinatorRequest) -> None:
    """Reply with the partitions that the member has now."""
    message: SyncGroupRequest = request.message
    group = consumers.groups[message.group_id]
    try:
        named = message.protocol_type, message.protocol_name
        if request.version >= PROTOCOL_VERSION and None in named:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        member = _classic_member(group, message.member_id, message.group_instance_id, message.generation_id)
        assert member.classic is not None
        protocol = member.classic.supported_protocols[0]
        if named[0] not in (None, CONSUMER_PROTOCOL) or named[1] not in (None, protocol.name):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        # A member that must give up partitions first has joined already: it joins again after that.
        if group.epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            consumers.await_request(step, message.group_id, member, only_first=True)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        assignment = encode_assignment(member.assigned, bytes(protocol.metadata), consumers.image())
    except KafkaError as refused:
        step.reply_once_committed(request.token, SyncGroupResponse(error_code=refused.code))
        return
    consumers.alive(step, message.group_id, member, moved=False)
    consumers.arrived(message.group_id, member)
    response = SyncGroupResponse(
        protocol_type=message.protocol_type, protocol_name=message.protocol_name, assignment=assignment
    )
    step.reply_once_committed(request.token, response)


def heartbeat(step: Step, consumers: ConsumerGroups, request: CoordinatorRequest) -> None:
    """Reply REBALANCE_IN_PROGRESS if the member must join again, to give up partitions or to get more."""
    message: HeartbeatRequest = request.message
    group = consumers.groups[message.group_id]
    try:
        member = _classic_member(group, message.member_id, message.group_instance_id, message.generation_id)
        consumers.alive(step, message.group_id, member, moved=False)
        code = ErrorCode.NONE
        if (
            member.member_epoch < group.epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member))
        ):
            consumers.await_request(step, message.group_id, member, only_first=True)
            code = ErrorCode.REBALANCE_IN_PROGRESS
    except KafkaError as refused:
        code = refused.code
    step.reply_once_committed(request.token, HeartbeatResponse(error_code=code))


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether another member has a partition of the member's target (``waitingOnUnreleasedPartition``)."""
    return any(
        group.owners.get((topic_id, partition)) not in (None, member.member_id)
        for topic_id, partitions in group.target.get(member.member_id, {}).items()
        for partition in partitions
    )


def leave(step: Step, classic: dict[str, Group], consumers: ConsumerGroups, request: CoordinatorRequest) -> Steps[None]:
    """Remove members of both protocols, by member id or group instance id, and raise the group epoch.

    An administrator removes members of the consumer protocol in this way, too. If the others are classic members, the
    group becomes classic, or stays as it is if they cannot form one.
    """
    message: LeaveGroupRequest = request.message
    is_batched = request.version >= BATCHED_LEAVE_VERSION
    leaving = message.members if is_batched else [MemberIdentity(member_id=message.member_id)]
    decision = GroupDecision(step, message.group_id, consumers.groups[message.group_id])
    before = decision.draft.members
    answers: list[MemberResponse] = []
    try:
        for identity in leaving:
            answers += [(yield from _leave_one(decision, identity))]
        left = {name: each for name, each in before.items() if name not in decision.draft.members}
        if left and not (yield from downgraded(step, classic, consumers, consumers.groups[message.group_id], left)):
            yield from drop_unused(decision, left.values())
            found = yield from metadata_hash(decision.draft, consumers.image())
            epoch = decision.draft.epoch + 1
            yield from decision.add(group_metadata(message.group_id, epoch, found))
            consumers.decided(decision)
        code = 0 if is_batched else answers[0].error_code
        response = LeaveGroupResponse(error_code=code, members=answers if is_batched else [])
    except KafkaError as refused:
        response = LeaveGroupResponse(error_code=refused.code)
    step.reply_once_committed(request.token, response)


def _leave_one(decision: GroupDecision, identity: MemberIdentity) -> Steps[MemberResponse]:
    """Raises KafkaError as :meth:`GroupDecision.add`."""
    group, instance_id = decision.draft, identity.group_instance_id
    member_id = identity.member_id
    if instance_id is not None and not member_id:
        # KIP-345: an administrator removes a static member by its group instance id alone.
        member_id = group.static_members.get(instance_id, "")
    code = ErrorCode.NONE
    yield 1
    try:
        if instance_id is None:
            member = known_member(group, member_id)
        else:
            member = known_static_member(group, member_id, instance_id)
    except KafkaError as refused:
        code = refused.code
    else:
        yield from decision.add(*member_tombstones(group.group_id, member.member_id))
    return MemberResponse(member_id=identity.member_id, group_instance_id=instance_id, error_code=code)
