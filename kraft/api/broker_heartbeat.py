"""BrokerHeartbeat (key 63): a broker renews its lease, and requests to be unfenced, fenced or shut down (KIP-631).

Versions 0 to 2: 1 has the ids of failed log directories (KIP-858), 2 those of cordoned ones (KIP-1066).
"""

from __future__ import annotations

from kraft.api.controller_requests import decide_for_node
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.BROKER_HEARTBEAT,
    versions={ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)

at_controller = decide_for_node


def error(
    message: BrokerHeartbeatRequest, version: int, code: ErrorCode, text: str | None = None
) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=code)
