"""ControlledShutdown (key 7): a broker with ZooKeeper that is about to stop requests other leaders for its partitions.

Versions 0 to 3: 1 has a client id in its header, 2 the broker epoch (KIP-380), 3 is flexible.

The response has the partitions that the broker still leads; it sends the request again until there are none.
"""

from __future__ import annotations

from kraft.api.controller_requests import ask_controller
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.controlled_shutdown_response import ControlledShutdownResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.CONTROLLED_SHUTDOWN,
    versions={ListenerType.ZK_BROKER: (0, 3)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_zk_broker = ask_controller


def error(
    message: ControlledShutdownRequest, version: int, code: ErrorCode, text: str | None = None
) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(error_code=code)
