"""JoinGroup: which client becomes a member, under which member id, and whether the group rebalances.

Sources: KIP-394 (from version 4 on a client gets a member id first and joins with it), KIP-345 (static members),
KIP-389 (``group.max.size``), KIP-559 (protocol type in the response), KIP-814 (a returning static leader skips the
assignment).
"""

from __future__ import annotations

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.group import Group, GroupMember, GroupState
from kraft.coordinator.groups.rebalance import Step, complete_if_ready, current_generation, join_error, prepare
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

ID_FIRST_VERSION = 4
SKIP_ASSIGNMENT_VERSION = 9
NEW_MEMBER_JOIN_TIMEOUT_S = 300.0
"""The longest wait of a new member for the end of its first rebalance."""
_MAX_PREFIX = 1_000
"""The prefix of a member id has at most so many characters of the client or instance id: a string has at most 32,767
bytes.
"""


def join(step: Step, groups: dict[str, Group], request: CoordinatorRequest) -> Steps[None]:
    """Reply with an error or the current generation, or park the request until the rebalance completes.

    A refusal may rest on a record that is lost with the leadership, such as another member id of a static member. So it
    waits until that is committed.
    """
    message: JoinGroupRequest = request.message
    try:
        group = yield from _find(step, groups, message)
        if message.member_id == "":
            yield from _join_new(step, group, request)
        else:
            yield from _join_again(step, group, request)
    except KafkaError as refused:
        member_id = "" if refused.code is ErrorCode.GROUP_MAX_SIZE_REACHED else message.member_id
        step.reply_once_committed(request.token, join_error(request.version, refused.code, member_id))


def _find(step: Step, groups: dict[str, Group], message: JoinGroupRequest) -> Steps[Group]:
    settings = step.settings
    check_session_timeout(step, message)
    group = groups.get(message.group_id)
    if group is None:
        if message.member_id != "":
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        group = Group(message.group_id, state_since_ms=step.timestamp_ms)
    if not _has_room(group, message.member_id, settings.group_max_size):
        yield from _remove_surplus(step, group, message.member_id)
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if sum(len(protocol.metadata) for protocol in message.protocols) > step.max_batch_bytes():
        # Apache accepts more, and then cannot store the group's metadata, which holds that of its members.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if not (yield from group.accepts(message.protocol_type, [protocol.name for protocol in message.protocols])):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    groups[message.group_id] = group
    return group


def check_session_timeout(step: Step, message: JoinGroupRequest) -> None:
    """Raises KafkaError with INVALID_SESSION_TIMEOUT."""
    shortest_s, longest_s = step.settings.group_min_session_timeout_s, step.settings.group_max_session_timeout_s
    if not shortest_s <= message.session_timeout_ms / 1000 <= longest_s:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)


def _has_room(group: Group, member_id: str, max_size: int) -> bool:
    """Return whether the group has room for the client (KIP-389).

    During PreparingRebalance the first ``max_size`` members to join stay, so a group that is too large removes the
    others.
    """
    member = group.members.get(member_id)
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        waits = member is not None and member.join is not None
        return waits or sum(each.join is not None for each in group.members.values()) < max_size
    return member is not None or len(group.members) < max_size


def _remove_surplus(step: Step, group: Group, member_id: str) -> Steps[None]:
    group.pending.pop(member_id, None)
    if member_id in group.members:
        group.remove(member_id)
    yield from complete_if_ready(step, group)


def _join_new(step: Step, group: Group, request: CoordinatorRequest) -> Steps[None]:
    """Handle a join without a member id: add or replace a static member at once, assign a dynamic one its id first."""
    message: JoinGroupRequest = request.message
    instance_id = message.group_instance_id
    if instance_id is not None:
        member_id = f"{instance_id[:_MAX_PREFIX]}-{step.new_uuid()}"
        if instance_id in group.static_members:
            yield from _replace_static(step, group, request, member_id)
        else:
            yield from _add_and_rebalance(step, group, request, member_id)
        return
    member_id = f"{request.client_id[:_MAX_PREFIX]}-{step.new_uuid()}"
    if request.version >= ID_FIRST_VERSION:
        group.pending[member_id] = step.now + message.session_timeout_ms / 1000
        step.reply(request.token, join_error(request.version, ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        yield from _add_and_rebalance(step, group, request, member_id)


def _join_again(step: Step, group: Group, request: CoordinatorRequest) -> Steps[None]:
    """Handle a join with a member id: add a pending member, or update the protocols of a member."""
    message: JoinGroupRequest = request.message
    if message.member_id in group.pending:
        if message.group_instance_id is not None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        yield from _add_and_rebalance(step, group, request, message.member_id)
        return
    member = member_of(group, message.member_id, message.group_instance_id)
    unchanged = member.protocols == _protocols(message)
    if group.state is GroupState.COMPLETING_REBALANCE and unchanged:
        # The client missed the response to its first join. The generation stays.
        yield from _answer_at_once(step, group, member, request)
    elif group.state is GroupState.STABLE and unchanged and group.leader != member.member_id:
        yield from _answer_at_once(step, group, member, request)
    elif group.state is GroupState.EMPTY:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        _park(step, member, request)
        yield from prepare(step, group)


def member_of(group: Group, member_id: str, group_instance_id: str | None) -> GroupMember:
    """Return the member that sent a request.

    Raises KafkaError FENCED_INSTANCE_ID if the instance id now has another member id, UNKNOWN_MEMBER_ID if no member
    has it.
    """
    if group_instance_id is not None:
        holder = group.static_members.get(group_instance_id)
        if holder is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if holder != member_id:
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
    if member_id not in group.members:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    return group.members[member_id]


def _protocols(message: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    return tuple((protocol.name, bytes(protocol.metadata)) for protocol in message.protocols)


def _add_and_rebalance(step: Step, group: Group, request: CoordinatorRequest, member_id: str) -> Steps[None]:
    message: JoinGroupRequest = request.message
    member = GroupMember(
        member_id=member_id,
        group_instance_id=message.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_s=0.0,
        session_timeout_s=0.0,
        protocol_type=message.protocol_type,
        protocols=(),
    )
    _park(step, member, request)
    member.is_new = True
    member.session_deadline = step.now + NEW_MEMBER_JOIN_TIMEOUT_S
    group.add(member)
    group.member_added_in_delay = True
    yield from prepare(step, group)


def _park(step: Step, member: GroupMember, request: CoordinatorRequest) -> None:
    """Update the member from its request and park the request. An earlier parked join gets REBALANCE_IN_PROGRESS."""
    message: JoinGroupRequest = request.message
    if member.join is not None:
        step.reply(member.join, join_error(member.join_version, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    member.protocols = _protocols(message)
    member.session_timeout_s = message.session_timeout_ms / 1000
    # Version 0 has no rebalance timeout (KIP-62): the session timeout replaces it.
    timeout_s = message.rebalance_timeout_ms / 1000
    member.rebalance_timeout_s = timeout_s if timeout_s >= 0 else member.session_timeout_s
    member.client_id = request.client_id
    member.client_host = request.client_host
    member.join = request.token
    member.join_version = request.version


def _answer_at_once(step: Step, group: Group, member: GroupMember, request: CoordinatorRequest) -> Steps[None]:
    member.alive(step.now)
    step.reply(request.token, (yield from current_generation(group, member)))


def _replace_static(step: Step, group: Group, request: CoordinatorRequest, member_id: str) -> Steps[None]:
    """Give a returning static member a new member id and fence its old one (KIP-345).

    A stable group does not rebalance if its elected protocol stays, even if the member's subscription changed.
    """
    message: JoinGroupRequest = request.message
    assert message.group_instance_id is not None
    if not step.may_write():
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    old_id = group.static_members[message.group_instance_id]
    old = group.members[old_id]
    if old.join is not None:
        step.answer_join(old, join_error(old.join_version, ErrorCode.FENCED_INSTANCE_ID, old_id))
    if old.sync is not None:
        step.answer_sync(old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
    former = attrs.evolve(old)
    member = group.replace_static(message.group_instance_id, member_id)
    _park(step, member, request)
    if group.state is GroupState.STABLE and (yield from group.elect_protocol()) == group.protocol_name:
        if (yield from step.persist(group)) is None:
            # Apache's callback of ``storeGroup``: the member keeps its old id and its old protocols.
            group.replace_static(message.group_instance_id, old_id)
            group.members[old_id] = former
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        response = yield from _returning_static(group, member, request.version, old_id)
        step.answer_join(member, response, once_committed=True)
    else:
        yield from prepare(step, group)


def _returning_static(group: Group, member: GroupMember, version: int, old_id: str) -> Steps[JoinGroupResponse]:
    if group.leader != member.member_id:
        return (yield from current_generation(group, member))
    if version >= SKIP_ASSIGNMENT_VERSION:
        return (yield from current_generation(group, member, skip_assignment=True))
    # An older client that learns it leads would assign again. So the response names its old member id as leader
    # (KIP-345).
    response = yield from current_generation(group, member)
    response.leader = old_id
    response.members = []
    return response
