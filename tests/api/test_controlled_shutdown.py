"""ControlledShutdown, AlterPartition and AllocateProducerIds at the listener of a broker with ZooKeeper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast
from uuid import uuid4

import attrs
import pytest
import trio

from kraft.api.context import LegacyControllerPart, ZkBrokerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.config.listeners import Endpoint
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.rpc.client import connect
from kraft.rpc.plane import control_plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.wire.errors import ErrorCode
from kraft.world.trace import Trace
from kraft.world.world import World
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import LegacyControllerDriver

REQUESTS = [ControlledShutdownRequest(1), AlterPartitionRequest(1), AllocateProducerIdsRequest(1, 1)]


@attrs.define
class Commands:
    features_epoch: int = -1


@attrs.define
class Context:
    controller: LegacyControllerPart
    image: Image = attrs.Factory(Image)
    commands: Commands = attrs.Factory(Commands)


@asynccontextmanager
async def listener(controller: LegacyControllerPart) -> AsyncIterator[int]:
    """A control plane on loopback; its port."""
    handlers: Handlers[ZkBrokerContext] = Handlers(ListenerType.ZK_BROKER, World().in_thread)
    dispatcher = Dispatcher(handlers, cast(ZkBrokerContext, Context(controller)))
    registry = Registry()
    service = Service(
        handle=dispatcher.handle,
        apis=OFFERED[ListenerType.ZK_BROKER],
        error_response=dispatcher.error_response,
        quotas=ConnectionQuotas(ConnectionLimits(), registry.clock),
        registry=registry,
    )
    async with trio.open_nursery() as nursery:
        plane = control_plane((Endpoint("CONTROLLER", "PLAINTEXT", "127.0.0.1", 0),))
        bound = await nursery.start(serve, plane, service, trio.Event())
        yield bound["CONTROLLER"].port
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
async def test_a_broker_that_is_not_the_controller_says_so_in_each_version(request_: Any) -> None:
    """KafkaApis: "if (!zkSupport.controller.isActive) … NOT_CONTROLLER". Apache's brokers retry elsewhere then."""
    config = LegacyControllerConfig(1, "PLAINTEXT", "PLAINTEXT")
    core = LegacyController(config, uuid4, Random(1))
    driver = LegacyControllerDriver(World(), core, Trace(), Registry())
    oldest, newest = OFFERED[ListenerType.ZK_BROKER][request_.API_KEY]
    async with listener(driver) as port, connect("127.0.0.1", port) as connection:
        for version in range(oldest, newest + 1):
            response: Any = await connection.request(request_, version)
            assert response.error_code == ErrorCode.NOT_CONTROLLER


@attrs.define
class Waiting:
    """A controller whose decision waits for ZooKeeper."""

    was_asked: trio.Event = attrs.Factory(trio.Event)

    async def answer(self, message: Any, version: int) -> Any:
        self.was_asked.set()
        await trio.sleep_forever()


async def test_a_decision_that_waits_for_zookeeper_holds_no_handler() -> None:
    """The control plane has one handler, which serves other connections meanwhile."""
    waiting = Waiting()
    with trio.fail_after(30):
        async with listener(waiting) as port, connect("127.0.0.1", port) as connection:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.request, REQUESTS[0])
                await waiting.was_asked.wait()
                async with connect("127.0.0.1", port) as other:
                    assert other.versions
                nursery.cancel_scope.cancel()
