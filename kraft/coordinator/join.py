"""JoinGroup: which client becomes a member, under which member id, and whether the group rebalances.

Sources: KIP-394 (from version 4 on a client gets a member id first and joins with it), KIP-345 (static members),
KIP-389 (``group.max.size``), KIP-559 (protocol type in the response), KIP-814 (a returning static leader skips the
assignment).
"""

from __future__ import annotations

from kraft.coordinator.effects import GroupRequest
from kraft.coordinator.group import Group, GroupState, Member
from kraft.coordinator.rebalance import Turn, complete_if_ready, current_generation, join_error, prepare
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.wire.errors import ErrorCode, KafkaError

ID_FIRST_VERSION = 4
SKIP_ASSIGNMENT_VERSION = 9
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The longest wait of a new member for the end of its first rebalance."""
_MAX_PREFIX = 1_000
"""The prefix of a member id has at most so many characters of the client or instance id: a string has at most 32,767
bytes.
"""


def join(turn: Turn, groups: dict[str, Group], request: GroupRequest) -> None:
    """Reply at once with an error or the current generation, or park the request until the rebalance completes."""
    message: JoinGroupRequest = request.message
    try:
        group = _find(turn, groups, message)
        if message.member_id == "":
            _join_new(turn, group, request)
        else:
            _join_again(turn, group, request)
    except KafkaError as refused:
        member_id = "" if refused.code is ErrorCode.GROUP_MAX_SIZE_REACHED else message.member_id
        turn.reply(request.token, join_error(request.version, refused.code, member_id))


def _find(turn: Turn, groups: dict[str, Group], message: JoinGroupRequest) -> Group:
    settings = turn.settings
    if not settings.group_min_session_timeout_ms <= message.session_timeout_ms <= settings.group_max_session_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
    group = groups.get(message.group_id)
    if group is None:
        if message.member_id != "":
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        group = Group(message.group_id, state_since_ms=turn.now_ms)
    if not _has_room(group, message.member_id, settings.group_max_size):
        _turn_away(turn, group, message.member_id)
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not group.accepts(message.protocol_type, [protocol.name for protocol in message.protocols]):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    groups[message.group_id] = group
    return group


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


def _turn_away(turn: Turn, group: Group, member_id: str) -> None:
    group.pending.pop(member_id, None)
    if member_id in group.members:
        group.remove(member_id)
    complete_if_ready(turn, group)


def _join_new(turn: Turn, group: Group, request: GroupRequest) -> None:
    """Handle a join without a member id: add or replace a static member at once, assign a dynamic one its id first."""
    message: JoinGroupRequest = request.message
    instance_id = message.group_instance_id
    if instance_id is not None:
        member_id = f"{instance_id[:_MAX_PREFIX]}-{turn.new_uuid()}"
        if instance_id in group.static_members:
            _replace_static(turn, group, request, member_id)
        else:
            _add_and_rebalance(turn, group, request, member_id)
        return
    member_id = f"{request.client_id[:_MAX_PREFIX]}-{turn.new_uuid()}"
    if request.version >= ID_FIRST_VERSION:
        group.pending[member_id] = turn.now_ms + message.session_timeout_ms
        turn.reply(request.token, join_error(request.version, ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        _add_and_rebalance(turn, group, request, member_id)


def _join_again(turn: Turn, group: Group, request: GroupRequest) -> None:
    """Handle a join with a member id: add a pending member, or update the protocols of a member."""
    message: JoinGroupRequest = request.message
    if message.member_id in group.pending:
        if message.group_instance_id is not None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        _add_and_rebalance(turn, group, request, message.member_id)
        return
    member = member_of(group, message.member_id, message.group_instance_id)
    unchanged = member.protocols == _protocols(message)
    if group.state is GroupState.COMPLETING_REBALANCE and unchanged:
        # The client missed the response to its first join. The generation stays.
        _answer_at_once(turn, group, member, request)
    elif group.state is GroupState.STABLE and unchanged and group.leader != member.member_id:
        _answer_at_once(turn, group, member, request)
    elif group.state is GroupState.EMPTY:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        _park(turn, member, request)
        prepare(turn, group)


def member_of(group: Group, member_id: str, group_instance_id: str | None) -> Member:
    """Return the member that sent a request.

    Raises:
        KafkaError: FENCED_INSTANCE_ID if the instance id now has another member id, UNKNOWN_MEMBER_ID if
            no member has it.
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


def _add_and_rebalance(turn: Turn, group: Group, request: GroupRequest, member_id: str) -> None:
    message: JoinGroupRequest = request.message
    member = Member(
        member_id=member_id,
        group_instance_id=message.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=0,
        session_timeout_ms=0,
        protocol_type=message.protocol_type,
        protocols=(),
    )
    _park(turn, member, request)
    member.is_new = True
    member.session_deadline_ms = turn.now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
    group.add(member)
    group.member_added_in_delay = True
    prepare(turn, group)


def _park(turn: Turn, member: Member, request: GroupRequest) -> None:
    """Update the member from its request and park the request. An earlier parked join gets REBALANCE_IN_PROGRESS."""
    message: JoinGroupRequest = request.message
    if member.join is not None:
        turn.reply(member.join, join_error(member.join_version, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    member.protocols = _protocols(message)
    member.session_timeout_ms = message.session_timeout_ms
    # Version 0 has no rebalance timeout (KIP-62): the session timeout replaces it.
    timeout_ms = message.rebalance_timeout_ms
    member.rebalance_timeout_ms = timeout_ms if timeout_ms >= 0 else message.session_timeout_ms
    member.client_id = request.client_id
    member.client_host = request.client_host
    member.join = request.token
    member.join_version = request.version


def _answer_at_once(turn: Turn, group: Group, member: Member, request: GroupRequest) -> None:
    member.alive(turn.now_ms)
    turn.reply(request.token, current_generation(group, member))


def _replace_static(turn: Turn, group: Group, request: GroupRequest, member_id: str) -> None:
    """Give a returning static member a new member id and fence its old one (KIP-345).

    A stable group does not rebalance if its elected protocol stays, even if the member's subscription changed.
    """
    message: JoinGroupRequest = request.message
    assert message.group_instance_id is not None
    if not turn.may_write():
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    old_id = group.static_members[message.group_instance_id]
    old = group.members[old_id]
    if old.join is not None:
        turn.answer_join(old, join_error(old.join_version, ErrorCode.FENCED_INSTANCE_ID, old_id))
    if old.sync is not None:
        turn.answer_sync(old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
    member = group.replace_static(message.group_instance_id, member_id)
    _park(turn, member, request)
    if group.state is GroupState.STABLE and group.elect_protocol() == group.protocol_name:
        turn.persist(group)
        turn.answer_join(member, _returning_static(group, member, request.version, old_id), once_committed=True)
    else:
        prepare(turn, group)


def _returning_static(group: Group, member: Member, version: int, old_id: str) -> JoinGroupResponse:
    if group.leader != member.member_id:
        return current_generation(group, member)
    if version >= SKIP_ASSIGNMENT_VERSION:
        return current_generation(group, member, skip_assignment=True)
    # An older client that learns it leads would assign again. So the response names its old member id as leader
    # (KIP-345).
    response = current_generation(group, member)
    response.leader = old_id
    response.members = []
    return response
