"""A controller's listener on loopback, together with the controller behind it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from kraft.api.context import ControllerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.config.broker import NodeConfig
from kraft.config.listeners import Voter
from kraft.config.properties import from_mapping
from kraft.config.topic import LogConfig
from kraft.control.controller import Controller
from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.metrics import Registry
from kraft.node.settings import connection_limits, controller_config, controller_plane_of
from kraft.quorum.driver import Quorum
from kraft.quorum.log import MetadataLog
from kraft.rpc.client import Connection, connect
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.testing.embedded import SETTINGS
from kraft.wire.schema import Message
from kraft.world.world import World
from tests.support.cluster_id import CLUSTER_ID
from tests.support.quorums import identity

#: No process listens there.
VOTER_1, VOTER_2 = Voter(1, "127.0.0.1", 1), Voter(2, "127.0.0.1", 2)


@attrs.frozen
class Serving:
    """A running listener, and a connection to it."""

    plane: ControllerContext
    port: int
    connection: Connection

    async def ask(self, message: Message, version: int | None = None) -> Any:
        with trio.fail_after(10):
            return await self.connection.request(message, version)


def _config(path: Path) -> NodeConfig:
    values = {**SETTINGS, "process.roles": "controller", "listeners": "CONTROLLER://127.0.0.1:0", "log.dirs": str(path)}
    return from_mapping(values).config


@asynccontextmanager
async def serving(path: Path, *voters: Voter) -> AsyncIterator[Serving]:
    """Controller 1 of these voters. Without other voters it is active; otherwise it reaches none of them."""
    config, world = _config(path), World()
    log = MetadataLog.open(str(path), LogConfig(), now_ms=world.clock.now_ms())
    quorum = Quorum(identity(1, *voters), log, world)
    metadata = Metadata(quorum, world, SnapshotPolicy())
    bootstrap = [FeatureLevelRecord(name="metadata.version", feature_level=21)]
    settings = controller_config(config, CLUSTER_ID)
    controller = Controller(quorum, metadata, settings, world, bootstrap=bootstrap, max_idle_interval_ms=0)
    handlers: Handlers[ControllerContext] = Handlers(ListenerType.CONTROLLER, world.in_thread)
    plane = ControllerContext(config, CLUSTER_ID, world.clock, quorum, controller, metadata, handlers)
    dispatcher = Dispatcher(handlers, plane)
    service = Service(
        handle=dispatcher.handle,
        apis=OFFERED[ListenerType.CONTROLLER],
        error_response=dispatcher.error_response,
        quotas=ConnectionQuotas(connection_limits(config), time.perf_counter),
        registry=Registry(),
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, controller.lead)
        await nursery.start(metadata.run)
        bound = await nursery.start(serve, controller_plane_of(config), service, trio.Event())
        if not voters:
            await until_active(plane)
        port = bound["CONTROLLER"].port
        async with connect("127.0.0.1", port, client_id="test") as connection:
            yield Serving(plane, port, connection)
        nursery.cancel_scope.cancel()


async def until_active(plane: ControllerContext) -> None:
    """Return once the controller is active and has replayed its own records."""
    with trio.fail_after(10):
        while not plane.controller.is_active:
            await plane.quorum.committed(plane.quorum.high_watermark)
        await plane.metadata.replayed(plane.quorum.end_offset)
