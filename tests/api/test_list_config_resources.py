"""ListConfigResources: the names of topics, brokers and client metrics that have settings."""

from __future__ import annotations

from kraft.messages.list_config_resources_request import ListConfigResourcesRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC


async def listed(broker: Connection, *kinds: int, version: int = 1) -> set[tuple[int, str]]:
    response = await broker.request(ListConfigResourcesRequest(list(kinds)), version)
    assert response.error_code == 0
    return {(each.resource_type, each.resource_name) for each in response.config_resources}


async def test_every_topic_and_broker_has_settings(own: Connection) -> None:
    """KIP-1142: without types, the response has the resources of all supported types."""
    expected = {(TOPIC, "orders"), (BROKER, "1"), (BROKER_LOGGER, "1")}
    assert await listed(own) == expected
    assert await listed(own, TOPIC, BROKER_LOGGER, TOPIC) == expected - {(BROKER, "1")}
    assert await listed(own, GROUP) == set()


async def test_an_unknown_type(broker: Connection) -> None:
    """KIP-1142: UNSUPPORTED_VERSION for a type that the broker does not support."""
    response = await broker.request(ListConfigResourcesRequest([TOPIC, 3]), 1)
    assert (response.error_code, response.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def test_version_0_lists_client_metrics_alone(own: Connection) -> None:
    """KIP-714: ListClientMetricsResources, which KIP-1142 renamed."""
    assert await listed(own, version=0) == set()
    assert await listed(own, CLIENT_METRICS) == set()
