"""SyncGroup (key 14): the leader sends the assignment, and every member gets its part of it.

Versions 0 to 5: 3 has static members, 4 is flexible, 5 has the protocol that the member expects (KIP-559). Parked until
the leader has sent the assignment.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.SYNC_GROUP,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=((Operation.READ, Resource.GROUP),),
)


async def at_broker(broker: BrokerContext, request: Request, message: SyncGroupRequest) -> Reply:
    return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)


at_zk_broker = at_broker


def error(message: SyncGroupRequest, version: int, code: ErrorCode, text: str | None = None) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code)
