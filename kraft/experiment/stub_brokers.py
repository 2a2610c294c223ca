"""Brokers that hold no data: they accept each request of a controller, and keep themselves registered.

Failover of a controller costs what the controller does: it loads the metadata, and informs the brokers. With stubs a
cluster may have 100,000 partitions on a small machine, without 100,000 logs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from uuid import UUID, uuid5

import trio

from kraft.config.listeners import Endpoint
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.registry import ApiKey, request_class
from kraft.messages.stop_replica_response import StopReplicaResponse
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, Reply, Request
from kraft.rpc.client import Connection
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.world.listen import SocketSettings
from kraft.world.world import World
from kraft.zookeeper.operations import Create
from kraft.zookeeper.session import session
from kraft.zookeeper.znodes.brokers import BrokerRegistration, broker_path, encode_broker

LISTENER = "CLIENTS"
HOST = "127.0.0.1"
HEARTBEAT_S = 1.0
SESSION_S = 30.0
METADATA_VERSION = "metadata.version"
_INCARNATIONS = UUID("6c1f4b59-6f8e-4c57-9c07-1c7f3f6f0a11")

_RESPONSES: Mapping[int, Callable[[], Message]] = {
    ApiKey.LEADER_AND_ISR: LeaderAndIsrResponse,
    ApiKey.UPDATE_METADATA: UpdateMetadataResponse,
    ApiKey.STOP_REPLICA: StopReplicaResponse,
}

OnActive = Callable[[Callable[[Connection], Awaitable[None]]], Awaitable[None]]
"""Calls a function with a connection to the active controller."""


async def _accept(request: Request) -> Reply:
    """Respond without an error, and without decoding the request."""
    return _RESPONSES[request.api_key]()


@asynccontextmanager
async def legacy_brokers(ids: Sequence[int], connect: str) -> AsyncIterator[None]:
    """Serve the controller's requests as these brokers, registered in ZooKeeper, until the block ends.

    Raises ZooKeeperUnavailable.
    """
    world = World()
    service = Service(
        handle=_accept,
        apis={key: request_class(key).VALID_VERSIONS for key in _RESPONSES},
        error_response=lambda request, error: CLOSE,
        quotas=ConnectionQuotas(ConnectionLimits(), world.seconds),
        registry=Registry(world.seconds),
        settings=SocketSettings(request_max_bytes=2**30),
    )
    stopping = trio.Event()
    async with session(world, connect, SESSION_S, SESSION_S) as zookeeper, trio.open_nursery() as nursery:
        for broker in ids:
            plane = Plane("stub", (Endpoint(LISTENER, "PLAINTEXT", HOST, 0),), metric_prefix=f"Stub{broker}")
            bound = await nursery.start(serve, plane, service, stopping)
            registration = BrokerRegistration(broker, tuple(bound.values()))
            await zookeeper.require(Create(broker_path(broker), encode_broker(registration), ephemeral=True))
        yield
        nursery.cancel_scope.cancel(reason="the experiment ends")


@asynccontextmanager
async def quorum_brokers(ids: Sequence[int], cluster_id: str, level: int, on_active: OnActive) -> AsyncIterator[None]:
    """Register these brokers with the quorum, and send their heartbeats until the block ends. They serve nothing: a
    quorum sends no request to a broker.
    """
    epochs: dict[int, int] = {}
    async with trio.open_nursery() as nursery:
        for broker in ids:
            epochs[broker] = -1
            await _beat(broker, epochs, cluster_id, level, on_active)
            nursery.start_soon(_keep_alive, broker, epochs, cluster_id, level, on_active)
        yield
        nursery.cancel_scope.cancel(reason="the experiment ends")


async def _keep_alive(broker: int, epochs: dict[int, int], cluster_id: str, level: int, on_active: OnActive) -> None:
    while True:
        await trio.sleep(HEARTBEAT_S)
        await _beat(broker, epochs, cluster_id, level, on_active)


async def _beat(broker: int, epochs: dict[int, int], cluster_id: str, level: int, on_active: OnActive) -> None:
    """Send a heartbeat, after a registration if there is none."""

    async def once(controller: Connection) -> None:
        if epochs[broker] < 0:
            registered = await controller.request(
                BrokerRegistrationRequest(
                    broker_id=broker,
                    cluster_id=cluster_id,
                    incarnation_id=uuid5(_INCARNATIONS, str(broker)),
                    listeners=[Listener(LISTENER, HOST, 9, 0)],
                    features=[Feature(METADATA_VERSION, 1, level)],
                    rack=None,
                    log_dirs=[uuid5(_INCARNATIONS, f"directory of {broker}")],
                )
            )
            assert isinstance(registered, BrokerRegistrationResponse)
            _check(registered.error_code)
            epochs[broker] = registered.broker_epoch
        beat = BrokerHeartbeatRequest(broker_id=broker, broker_epoch=epochs[broker], current_metadata_offset=2**60)
        response = await controller.request(beat)
        assert isinstance(response, BrokerHeartbeatResponse)
        _check(response.error_code)

    await on_active(once)


def _check(code: int) -> None:
    if code:
        raise KafkaError(ErrorCode(code))
