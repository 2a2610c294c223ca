"""kraft.node.controller_address: KIP-291's fallback, and where the requests of a broker to the controller go."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest
from immutables import Map

from kraft.config.broker import node_config
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.controlled_shutdown_response import ControlledShutdownResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Broker, BrokerEndpoint, Image
from kraft.node.controller_address import SHUTDOWN_VERSION, ControllerAddress
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.dial import dial_by_tcp
from tests.rpc.planes import APIS, running

CONTROL_PLANE = {"control.plane.listener.name": "CONTROLLER"}
FORCED = {**CONTROL_PLANE, "control.plane.force.controller.requests.enable": "true"}
SETTINGS = {
    "broker.id": "1",
    "zookeeper.connect": "h:2181",
    "listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9091",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


def address(settings: Mapping[str, str], *listeners: tuple[str, int]) -> ControllerAddress:
    """Of a broker with these settings, whose image has broker 2 with these listeners and ports."""
    endpoints = tuple(BrokerEndpoint(name, "127.0.0.1", port, 0) for name, port in listeners)
    broker = Broker(2, 7, UUID(int=0), endpoints, {}, None, False, False, ())
    replicas = SimpleNamespace(image=Image(brokers=Map({2: broker})))
    listening = node_config({**SETTINGS, **settings}).listeners
    return ControllerAddress(listening, cast(Replicas, replicas), dial_by_tcp)


BOTH = ("PLAINTEXT", 1), ("CONTROLLER", 2)
INTER_BROKER = (("PLAINTEXT", 1),)


@pytest.mark.parametrize(
    ("settings", "listeners", "requests_to", "shutdown_to"),
    [
        ({}, BOTH, 1, 1),
        (CONTROL_PLANE, BOTH, 2, 2),
        (CONTROL_PLANE, INTER_BROKER, 1, 1),
        (FORCED, BOTH, 1, 2),
        (FORCED, INTER_BROKER, 1, 1),
    ],
    ids=["no control plane", "control plane", "the controller has none", "forced", "forced, the controller has none"],
)
def test_a_request_goes_to_the_control_plane_if_both_brokers_have_one(
    settings: Mapping[str, str], listeners: tuple[tuple[str, int], ...], requests_to: int, shutdown_to: int
) -> None:
    """ "If the config is not set, the controller will fall back to the current behavior and use
    inter-broker-listener-name"; the same holds for brokers. A forced control plane serves ControlledShutdown alone.
    """
    chosen = address(settings, *listeners)
    requests, shutdown = chosen.for_requests(2), chosen.for_shutdown(2)
    assert requests is not None
    assert shutdown is not None
    assert (requests.port, shutdown.port) == (requests_to, shutdown_to)
    assert chosen.for_requests(3) is chosen.for_shutdown(3) is None, "broker 3 is not registered"


async def test_a_forced_control_plane_of_the_controller_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the extension is switched on one broker after the other, the ISR changes of the others must not wait."""

    async def refuse(request: Request) -> Reply:
        assert request.api_key == ApiKey.API_VERSIONS
        return ApiVersionsResponse(error_code=ErrorCode.POLICY_VIOLATION)

    monkeypatch.setitem(APIS, ApiKey.API_VERSIONS, (0, 4))
    async with running(refuse) as plane:
        port = plane.ports["PLAINTEXT"]
        chosen = address(CONTROL_PLANE, ("PLAINTEXT", 1), ("CONTROLLER", port))
        first = chosen.for_requests(2)
        assert first is not None
        assert first.port == port
        with pytest.raises(KafkaError):
            async with chosen.connect(first.host, first.port, "1", 10):
                pass
        second = chosen.for_requests(2)
        assert second is not None
        assert second.port == 1


async def test_a_controlled_shutdown_needs_no_other_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka, whose client for it does not discover versions. A forced control plane refuses ApiVersions."""
    seen = []

    async def handle(request: Request) -> Reply:
        seen.append((request.api_key, request.api_version, request.client_id))
        return ControlledShutdownResponse()

    monkeypatch.setitem(APIS, ApiKey.CONTROLLED_SHUTDOWN, (0, 3))
    async with running(handle) as plane:
        chosen = address(FORCED)
        async with chosen.connect_for_shutdown("127.0.0.1", plane.ports["PLAINTEXT"], "1", 10) as connection:
            assert await connection.request(ControlledShutdownRequest(1, 7)) == ControlledShutdownResponse()
            with pytest.raises(KafkaError):
                await connection.request(AlterPartitionRequest())
    assert seen == [(ApiKey.CONTROLLED_SHUTDOWN, SHUTDOWN_VERSION, "1")]
