"""DescribeCluster (key 60): the cluster's id, its active controller, and the controllers that registered (KIP-919).

Versions 0 to 2: as at a broker; but what is asked for must be controllers.
"""

from __future__ import annotations

from kraft.api.authorized_operations import CLUSTER_OPERATIONS
from kraft.api.context import ControllerContext
from kraft.api.describe_cluster import CONTROLLERS, check_kind
from kraft.api.describe_cluster import error as error
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.quorum.wire import NOBODY
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: DescribeClusterRequest) -> Reply:
    check_kind(message, CONTROLLERS, request.api_version)
    response = DescribeClusterResponse(endpoint_type=CONTROLLERS, cluster_id=plane.cluster_id)
    response.brokers = _controllers(plane, request.connection.listener)
    leader_id = plane.quorum.leader_id
    response.controller_id = NOBODY if leader_id is None else leader_id
    if message.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _controllers(plane: ControllerContext, listener: str) -> list[DescribeClusterBroker]:
    """Those that have registered, with the address that they registered for the listener."""
    return [
        DescribeClusterBroker(node_id, endpoint.host, endpoint.port)
        for node_id, registered in sorted(plane.image.controllers.items())
        for endpoint in registered.end_points
        if endpoint.name == listener
    ]
