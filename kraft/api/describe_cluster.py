"""DescribeCluster (key 60): the cluster's id, controller and nodes (KIP-700).

Versions 0 to 2: 1 may request controllers instead of brokers (KIP-919), 2 may include fenced brokers.

A broker's listener describes brokers and a controller's listener controllers. A controller's response has the active
controller and all registered controllers.
"""

from __future__ import annotations

from kraft.api.alive_brokers import alive_brokers
from kraft.api.authorized_operations import CLUSTER_OPERATIONS
from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.messages.registry import ApiKey
from kraft.quorum.rpcs import NOBODY
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.DESCRIBE_CLUSTER,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
)

BROKERS = 1
CONTROLLERS = 2


async def at_broker(broker: BrokerContext, request: Request, message: DescribeClusterRequest) -> Reply:
    _check_kind(message, BROKERS, request.api_version)
    response = DescribeClusterResponse(endpoint_type=BROKERS, cluster_id=broker.cluster_id)
    response.brokers = _brokers(broker, request.connection.listener, fenced_too=message.include_fenced_brokers)
    alive = [each.broker_id for each in response.brokers if not each.is_fenced]
    response.controller_id = broker.shown_controller(alive)
    if message.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


at_zk_broker = at_broker


async def at_controller(controller: ControllerContext, request: Request, message: DescribeClusterRequest) -> Reply:
    _check_kind(message, CONTROLLERS, request.api_version)
    response = DescribeClusterResponse(endpoint_type=CONTROLLERS, cluster_id=controller.cluster_id)
    response.brokers = _controllers(controller, request.connection.listener)
    leader_id = controller.quorum.leader_id
    response.controller_id = NOBODY if leader_id is None else leader_id
    if message.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _check_kind(message: DescribeClusterRequest, kind: int, version: int) -> None:
    """Check that the request is for the kind of node that the listener describes.

    Raises KafkaError UNSUPPORTED_ENDPOINT_TYPE for an unknown kind, MISMATCHED_ENDPOINT_TYPE for the other kind,
    INVALID_REQUEST at a controller in version 0, which is always for brokers.
    """
    if version == 0 and kind != BROKERS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Before version 1 this asks for brokers.")
    if message.endpoint_type not in (BROKERS, CONTROLLERS):
        raise KafkaError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)
    if message.endpoint_type != kind:
        raise KafkaError(ErrorCode.MISMATCHED_ENDPOINT_TYPE)


def _brokers(broker: BrokerContext, listener: str, *, fenced_too: bool) -> list[DescribeClusterBroker]:
    found = [
        DescribeClusterBroker(each.node_id, each.host, each.port, each.rack)
        for each in alive_brokers(broker.image, listener)
    ]
    if fenced_too:
        for registered in broker.image.brokers.values():
            endpoint = registered.endpoint(listener)
            if registered.fenced and endpoint is not None:
                found.append(
                    DescribeClusterBroker(registered.id, endpoint.host, endpoint.port, registered.rack, is_fenced=True)
                )
    return sorted(found, key=lambda each: each.broker_id)


def _controllers(controller: ControllerContext, listener: str) -> list[DescribeClusterBroker]:
    """Return the registered controllers, with their registered endpoint for ``listener``."""
    return [
        DescribeClusterBroker(node_id, endpoint.host, endpoint.port)
        for node_id, registered in sorted(controller.image.controllers.items())
        for endpoint in registered.end_points
        if endpoint.name == listener
    ]


def error(
    message: DescribeClusterRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=text)
