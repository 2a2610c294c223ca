"""Nodes in the test's own event loop: connections to them, and nodes that stop, or are killed, and start again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import attrs
import trio

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.node.node import Bound, Node
from kraft.rpc.client import Connection, connect
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.testing.embedded import SETTINGS, EmbeddedNode
from tests.support.cluster_id import CLUSTER_ID


@contextlib.asynccontextmanager
async def connected(node: EmbeddedNode, *, client_id: str = "test") -> AsyncIterator[Connection]:
    """A connection to the node's client listener."""
    host, port = node.bootstrap_servers.split(":")
    async with connect(host, int(port), client_id=client_id) as connection:
        yield connection


@contextlib.asynccontextmanager
async def connected_to_controller(node: EmbeddedNode) -> AsyncIterator[Connection]:
    host, port = node.controller.split(":")
    async with connect(host, int(port), client_id="test") as connection:
        yield connection


@attrs.define
class Running:
    """A node with a connection to it. ``kill`` ends it without a shutdown."""

    node: Node
    bound: Bound
    broker: Connection
    killed: bool = False

    def kill(self) -> None:
        self.killed = True


@contextlib.asynccontextmanager
async def node_in(directory: Path, settings: Mapping[str, str] | None = None) -> AsyncIterator[Running]:
    """A node whose storage is ``directory``, formatted if it is new; the directory stays for the next node.

    A killed node runs no line of its shutdown: it is cancelled, and its unwritten data is gone.
    """
    config = from_mapping({**SETTINGS, "log.dirs": str(directory), **(settings or {})}).config
    if not (directory / "meta.properties").exists():
        format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    with open_directories(config) as directories:
        async with trio.open_nursery() as nursery:
            node = Node(config, directories)
            bound: Bound = await nursery.start(node.run, name="node")
            endpoint = next(iter(bound.broker.values()))
            async with connect(endpoint.host, endpoint.port, client_id="test") as broker:
                running = Running(node, bound, broker)
                yield running
                if running.killed:
                    nursery.cancel_scope.cancel(reason="killed")
                else:
                    node.stopping.set()
