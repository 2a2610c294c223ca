"""DescribeCluster: the nodes of one kind (KIP-700, KIP-919)."""

from __future__ import annotations

import pytest

from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.rpc.client import Connection
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.nodes import connected, connected_to_controller


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_describe_cluster(kraft_shared_cluster: EmbeddedCluster, broker: Connection, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    response = await broker.request(request, version)
    assert (response.error_code, response.cluster_id) == (0, kraft_shared_cluster.cluster_id)
    assert [each.broker_id for each in response.brokers] == [response.controller_id] == [1]
    assert response.cluster_authorized_operations > 0


async def test_endpoint_types() -> None:
    """114 for the other kind of listener, 115 for a kind that is none."""
    async with embedded_node() as node, connected(node) as broker, connected_to_controller(node) as controller:
        wrong = await broker.request(DescribeClusterRequest(endpoint_type=2), 1)
        assert wrong.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE == 114
        for endpoint_type in (0, 3, -1):
            nonsense = await broker.request(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
            assert nonsense.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE == 115
        right = await controller.request(DescribeClusterRequest(endpoint_type=2), 1)
        assert (right.error_code, right.controller_id, [each.broker_id for each in right.brokers]) == (0, 1, [1])
        assert right.brokers[0].port == int(node.controller.split(":")[1])
        assert (await controller.request(DescribeClusterRequest(), 1)).error_code == 114
        assert (await controller.request(DescribeClusterRequest(), 0)).error_code == ErrorCode.INVALID_REQUEST
