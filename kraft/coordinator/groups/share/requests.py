"""The requests for share groups, and those that a share group refuses because they are for other types of groups."""

from __future__ import annotations

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.share.admin import alter_offsets, delete_group, delete_offsets
from kraft.coordinator.groups.share.description import describe_shares
from kraft.coordinator.groups.share.heartbeat import Others, heartbeat
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kraft.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError, shortened


def perform(step: Step, others: Others, shares: ShareGroups, request: CoordinatorRequest) -> Steps[bool]:
    """Perform a request for share groups, and return True. Return False for a request for other groups.

    ``others`` are the groups of other types.
    """
    message = request.message
    try:
        match message:
            case ShareGroupHeartbeatRequest():
                yield from heartbeat(step, others, shares, request)
            case ShareGroupDescribeRequest():
                step.reply(request.token, (yield from describe_shares(shares, request)))
            case AlterShareGroupOffsetsRequest():
                _check_type(message.group_id, others)
                yield from alter_offsets(step, shares, request)
            case DeleteShareGroupOffsetsRequest():
                _check_type(message.group_id, others)
                yield from delete_offsets(step, shares, request)
            case DeleteGroupsRequest():
                return (yield from _delete_group(step, shares, request))
            case _:
                return _refuses(step, shares, request)
    except KafkaError as refused:
        step.reply(request.token, refused)
    return True


def _check_type(group_id: str, others: Others) -> None:
    if any(group_id in groups for groups in others):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, shortened(f"Group {group_id} is not a share group."))


def _delete_group(step: Step, shares: ShareGroups, request: CoordinatorRequest) -> Steps[bool]:
    """Delete a share group. Each request names one group."""
    message: DeleteGroupsRequest = request.message
    named = [group_id for group_id in message.groups_names if group_id in shares.groups]
    for group_id in named:
        try:
            yield from delete_group(step, shares, group_id, request.token)
        except KafkaError as refused:
            result = DeletableGroupResult(group_id, refused.code)
            step.reply(request.token, DeleteGroupsResponse(results=[result]))
    return bool(named)


def _refuses(step: Step, shares: ShareGroups, request: CoordinatorRequest) -> bool:
    """Refuse a request of another protocol that names a share group.

    The members of a classic group are unknown in it, which the classic protocol answers.
    """
    message = getattr(request.message, "message", request.message)
    group_id = getattr(message, "group_id", "")
    if group_id not in shares.groups or isinstance(message, SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest):
        return False
    if isinstance(message, JoinGroupRequest):
        step.reply(request.token, KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return True
    text = shortened(f"Group {group_id} is a share group.")
    step.reply(request.token, KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text))
    return True
