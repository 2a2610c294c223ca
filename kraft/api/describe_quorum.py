"""DescribeQuorum (key 55): the leader of the metadata quorum, and the log end offset of each replica (KIP-595).

Versions 0 to 2: 1 has timestamps (KIP-836), 2 directory ids and the voters' endpoints (KIP-853).

Only the leader of the quorum has this state, so a broker forwards the request. Static voters have ids but no directory
ids here, as in Apache Kafka. The directory id of an observer is that of its last Fetch.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.messages.registry import ApiKey
from kraft.quorum.description import refused
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.DESCRIBE_QUORUM,
    versions={ListenerType.BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward


async def at_controller(controller: ControllerContext, request: Request, message: DescribeQuorumRequest) -> Reply:
    return controller.controller.describe_quorum(message, request.api_version)


def error(
    message: DescribeQuorumRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeQuorumResponse:
    """Return the error for the partition: a controller that does not lead returns NOT_LEADER_OR_FOLLOWER."""
    if code is ErrorCode.NOT_CONTROLLER:
        return refused(message, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return DescribeQuorumResponse(error_code=code, error_message=text)
