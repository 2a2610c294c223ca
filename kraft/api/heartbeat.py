"""Heartbeat (key 12): a member renews its session, and learns whether its group rebalances.

Versions 0 to 4: 3 has static members, 4 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.HEARTBEAT,
    versions={ListenerType.BROKER: (0, 4), ListenerType.ZK_BROKER: (0, 4)},
    permissions=((Operation.READ, Resource.GROUP),),
)


async def at_broker(broker: BrokerContext, request: Request, message: HeartbeatRequest) -> Reply:
    return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)


at_zk_broker = at_broker


def error(message: HeartbeatRequest, version: int, code: ErrorCode, text: str | None = None) -> HeartbeatResponse:
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    # As Apache's GroupCoordinatorService: nothing is known of the member yet, and it need not join again.
    return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else code)
