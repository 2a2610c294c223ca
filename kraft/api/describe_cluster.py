"""DescribeCluster (key 60): the cluster's id, controller and nodes (KIP-700).

Versions 0 to 2: 1 may ask for controllers instead of brokers (KIP-919), 2 may include fenced brokers.
"""

from __future__ import annotations

from kraft.api.authorized_operations import CLUSTER_OPERATIONS
from kraft.api.context import BrokerContext
from kraft.api.metadata import alive_brokers
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

BROKERS = 1
CONTROLLERS = 2


async def handle(broker: BrokerContext, request: Request, message: DescribeClusterRequest) -> Reply:
    check_kind(message, BROKERS, request.api_version)
    response = DescribeClusterResponse(endpoint_type=BROKERS, cluster_id=broker.cluster_id)
    response.brokers = _brokers(broker, request.connection.listener, fenced_too=message.include_fenced_brokers)
    alive = [each.broker_id for each in response.brokers if not each.is_fenced]
    response.controller_id = broker.node_id if broker.node_id in alive else min(alive, default=-1)
    if message.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def check_kind(message: DescribeClusterRequest, kind: int, version: int) -> None:
    """A listener answers only for its own kind: brokers at a broker's listener, controllers at a controller's.

    Raises KafkaError: UNSUPPORTED_ENDPOINT_TYPE for no kind at all, MISMATCHED_ENDPOINT_TYPE for the other one,
    INVALID_REQUEST for brokers where the version cannot ask for anything else.
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


def error(
    message: DescribeClusterRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=text)
