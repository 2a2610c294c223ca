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
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.LEAVE_GROUP,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=((Operation.READ, Resource.GROUP),),
)


_SLICE_MEMBERS = 1000


async def at_broker(broker: BrokerContext, request: Request, message: LeaveGroupRequest) -> Reply:
    if len(message.members) <= _SLICE_MEMBERS:
        return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)
    slices = Slices(1)
    replies = []
    for start in range(0, len(message.members), _SLICE_MEMBERS):
        part = message.evolve(members=message.members[start : start + _SLICE_MEMBERS])
        # Each time the shard is another one if this broker leads the partition again since the last part.
        replies.append(broker.coordinators.groups.shard_of_member(message.group_id).submit(request, part))
        await slices.spend()

    async def all_gone() -> LeaveGroupResponse:
        response = LeaveGroupResponse()
        for reply in replies:
            answer = await response_of(reply)
            assert isinstance(answer, LeaveGroupResponse)
            response.error_code = response.error_code or answer.error_code
            response.members += answer.members
        return response

    return Parked(all_gone)


at_zk_broker = at_broker


def error(message: LeaveGroupRequest, version: int, code: ErrorCode, text: str | None = None) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=code)
