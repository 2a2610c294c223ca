"""SyncGroup, Heartbeat and LeaveGroup: the requests of a member between two rebalances."""

from __future__ import annotations

from kraft.coordinator.core import NO_DEADLINE, CoordinatorRequest
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import Group, GroupMember, GroupState, Storing
from kraft.coordinator.groups.join import member_of
from kraft.coordinator.groups.rebalance import Step, assignment_refused, complete_if_ready, drop, settle
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

BATCHED_LEAVE_VERSION = 3
PROTOCOL_VERSION = 5


def existing(groups: dict[str, Group], group_id: str, unknown: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> Group:
    """Raises KafkaError with ``unknown`` if the group does not exist."""
    group = groups.get(group_id)
    if group is None:
        raise KafkaError(unknown)
    return group


def sync(step: Step, groups: dict[str, Group], request: CoordinatorRequest) -> Steps[None]:
    """Park the request until the leader has assigned, or reply with an error or the current assignment.

    A refusal waits until the records before it are committed, unless only a rebalance refuses.
    """
    message: SyncGroupRequest = request.message
    try:
        if request.version >= PROTOCOL_VERSION and None in (message.protocol_type, message.protocol_name):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        group = existing(groups, message.group_id)
        member = member_of(group, message.member_id, message.group_instance_id)
        _same_generation(group, message.generation_id)
        _same_protocol(group, message)
        yield from _sync_by_state(step, group, member, request)
    except KafkaError as refused:
        rebalances = refused.code is ErrorCode.REBALANCE_IN_PROGRESS
        reply = step.reply if rebalances else step.reply_once_committed
        reply(request.token, SyncGroupResponse(error_code=refused.code))


def _same_generation(group: Group, generation: int) -> None:
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _same_protocol(group: Group, message: SyncGroupRequest) -> None:
    """Check that the request names the elected protocol (KIP-559). Before an election any is accepted."""
    for named, real in ((message.protocol_type, group.protocol_type), (message.protocol_name, group.protocol_name)):
        if named is not None and real is not None and named != real:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _sync_by_state(step: Step, group: Group, member: GroupMember, request: CoordinatorRequest) -> Steps[None]:
    if group.state is GroupState.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    group.awaiting_sync.discard(member.member_id)
    if not group.awaiting_sync:
        group.sync_deadline = NO_DEADLINE
    if group.state is GroupState.STABLE:
        member.alive(step.now)
        step.reply(request.token, _assignment(group, member))
        return
    if member.sync is not None:
        step.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync = request.token
    if member.member_id == group.leader:
        yield from _assign(step, group, request.message)


def _assign(step: Step, group: Group, message: SyncGroupRequest) -> Steps[None]:
    """Append the leader's assignment. Members get it once it is committed (Apache: the callback of ``storeGroup``).

    If the group's metadata exceeds ``max.message.bytes``, they get UNKNOWN_SERVER_ERROR, as in Apache.
    """
    if not step.may_write():
        yield from assignment_refused(step, group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return
    given: dict[str, bytes] = {}
    for each in message.assignments:
        if each.member_id in group.members:
            given[each.member_id] = each.assignment
        yield 1
    record = None
    if sum(map(len, given.values())) <= step.max_batch_bytes():  # otherwise it is refused without a copy
        given = {member_id: bytes(assignment) for member_id, assignment in given.items()}
        record = yield from step.persist(group, given)
    if record is None:
        yield from assignment_refused(step, group, ErrorCode.UNKNOWN_SERVER_ERROR)
        return
    group.storing = Storing(record, given, step.now + step.settings.offsets_commit_timeout_s)


def assignment_committed(step: Step, group: Group) -> Steps[None]:
    """Send each parked member its part of the assignment, empty if the assignment does not name the member."""
    assert group.storing is not None
    assignments = group.storing.assignments
    group.storing = None
    group.become(GroupState.STABLE, step.timestamp_ms)
    step.count(Counted.CLASSIC_REBALANCES)
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
        if member.sync is not None:
            step.answer_sync(member, _assignment(group, member))
        yield 1


def _assignment(group: Group, member: GroupMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def heartbeat(step: Step, groups: dict[str, Group], request: CoordinatorRequest) -> None:
    """Reply at once to a member. A refusal waits until the records before it are committed."""
    message: HeartbeatRequest = request.message
    try:
        group = existing(groups, message.group_id)
        member = member_of(group, message.member_id, message.group_instance_id)
        _same_generation(group, message.generation_id)
        member.alive(step.now)
        rebalancing = group.state is GroupState.PREPARING_REBALANCE
        code = ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE
    except KafkaError as refused:
        step.reply_once_committed(request.token, HeartbeatResponse(error_code=refused.code))
    else:
        step.reply(request.token, HeartbeatResponse(error_code=code))


def leave(step: Step, groups: dict[str, Group], request: CoordinatorRequest) -> Steps[None]:
    """Remove one member (up to version 2) or several, by member id or group instance id (KIP-345).

    The response waits until the records are committed: that a group is empty is a record.
    """
    message: LeaveGroupRequest = request.message
    batched = request.version >= BATCHED_LEAVE_VERSION
    leaving = message.members if batched else [MemberIdentity(member_id=message.member_id)]
    group = groups.get(message.group_id)
    answers = []
    size = 0 if group is None else len(group.members)
    for identity in leaving:
        code = ErrorCode.UNKNOWN_MEMBER_ID if group is None else (yield from _leave_one(step, group, identity))
        answers.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
        yield 1
    if group is not None and len(group.members) < size:
        yield from settle(step, group)
    top_code = ErrorCode.NONE if batched else answers[0].error_code
    response = LeaveGroupResponse(error_code=top_code, members=answers if batched else [])
    step.reply_once_committed(request.token, response)


def _leave_one(step: Step, group: Group, identity: MemberIdentity) -> Steps[ErrorCode]:
    instance_id = identity.group_instance_id
    if identity.member_id in group.pending:
        del group.pending[identity.member_id]
        yield from complete_if_ready(step, group)
        return ErrorCode.NONE
    try:
        if instance_id is not None and identity.member_id == "":
            # KIP-345: an administrator removes a static member by its group instance id alone.
            member_id = group.static_members.get(instance_id, "")
            member = member_of(group, member_id, None)
        else:
            member = member_of(group, identity.member_id, instance_id)
    except KafkaError as refused:
        return refused.code
    drop(step, group, member.member_id)
    return ErrorCode.NONE
