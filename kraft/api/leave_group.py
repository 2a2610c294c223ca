"""LeaveGroup (key 13): members leave at once, before their sessions expire.

Versions 0 to 5: 3 has several members in one request, static ones by their instance id (KIP-345); 4 is flexible; 5 has
the reason (KIP-800).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.leave_group_response import LeaveGroupResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.LEAVE_GROUP,
    versions={ListenerType.BROKER: (0, 5)},
    permissions=((Operation.READ, Resource.GROUP),),
)


async def at_broker(broker: BrokerContext, request: Request, message: LeaveGroupRequest) -> Reply:
    return broker.groups.shard_of_member(message.group_id).submit(request, message)


def error(message: LeaveGroupRequest, version: int, code: ErrorCode, text: str | None = None) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=code)
