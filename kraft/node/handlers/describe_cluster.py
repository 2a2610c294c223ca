"""DescribeCluster (key 60): the cluster's id, controller and nodes (KIP-700).

Versions 0 to 2: 1 may ask for controllers instead of brokers (KIP-919), 2 may include fenced brokers.

A listener answers only for its own kind: brokers at a broker's listener, controllers at a controller's.
"""

from __future__ import annotations

from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.node.broker import Broker
from kraft.node.handlers.authorized import CLUSTER_OPERATIONS
from kraft.node.handlers.metadata import alive_brokers
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

BROKERS = 1
CONTROLLERS = 2


async def handle(broker: Broker, request: Request, message: DescribeClusterRequest) -> Reply:
    at_controller = request.connection.listener in broker.config.listeners.controller_names
    if message.endpoint_type not in (BROKERS, CONTROLLERS):
        raise KafkaError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)
    if message.endpoint_type != (CONTROLLERS if at_controller else BROKERS):
        raise KafkaError(ErrorCode.MISMATCHED_ENDPOINT_TYPE)
    response = DescribeClusterResponse(endpoint_type=message.endpoint_type, cluster_id=broker.cluster_id)
    if at_controller:
        response.brokers = _controllers(broker, request.connection.listener)
        leader_id = broker.publisher.quorum.leader_id
        response.controller_id = -1 if leader_id is None else leader_id
    else:
        response.brokers = _brokers(broker, request.connection.listener, fenced_too=message.include_fenced_brokers)
        alive = [each.broker_id for each in response.brokers if not each.is_fenced]
        response.controller_id = broker.node_id if broker.node_id in alive else min(alive, default=-1)
    if message.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _controllers(broker: Broker, listener: str) -> list[DescribeClusterBroker]:
    """Those that have registered, with the address that they registered for the listener (KIP-919)."""
    return [
        DescribeClusterBroker(node_id, endpoint.host, endpoint.port)
        for node_id, registered in sorted(broker.image.controllers.items())
        for endpoint in registered.end_points
        if endpoint.name == listener
    ]


def _brokers(broker: Broker, listener: str, *, fenced_too: bool) -> list[DescribeClusterBroker]:
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


def error(
    message: DescribeClusterRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=text)
