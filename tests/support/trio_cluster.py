"""Several whole nodes as Trio tasks, on real files and sockets: each can be stopped, killed, and started again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import trio

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.node.node import Bound, Node
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection, connect
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.testing.embedded import SETTINGS
from tests.support.cluster_id import CLUSTER_ID
from tests.support.node_process import free_ports

START_TIMEOUT_S = 60
FETCH_WAIT_MS = 200
_LIVELY: Mapping[str, str] = {
    "broker.heartbeat.interval.ms": "200",
    "controller.quorum.election.timeout.ms": "500",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.wait.max.ms": str(FETCH_WAIT_MS),
}
"""Shorter waits for tests. The broker sessions are Kafka's, because nodes that share an event loop pause together."""
QUICK_LEASES: Mapping[str, str] = {
    "broker.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "4000",
}
"""Short timeouts, for tests in which others notice that a node is gone. On a busy machine the event loop that the nodes
share gets no processor for some hundred milliseconds at a time, so shorter ones end without a cause."""


@attrs.define(eq=False)
class TrioNode:
    """One node of a cluster, which may run or not. Its ports stay the same."""

    node_id: int
    directory: Path
    settings: Mapping[str, str]
    port: int
    node: Node | None = None
    _scope: trio.CancelScope | None = None
    _ended: trio.Event = attrs.Factory(trio.Event)

    async def run(self, *, task_status: trio.TaskStatus[Bound]) -> None:
        config = from_mapping(self.settings).config
        if not (self.directory / "meta.properties").exists():
            format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
        self._ended = trio.Event()
        try:
            with open_directories(config) as directories, trio.CancelScope() as self._scope:
                self.node = Node(config, directories)
                await self.node.run(task_status=task_status)
        finally:
            self.node = None
            self._ended.set()

    async def stop(self) -> None:
        """Under control."""
        assert self.node is not None
        self.node.stopping.set()
        await self._ended.wait()

    async def kill(self) -> None:
        """Run no line of its shutdown. Its unwritten data is gone."""
        assert self._scope is not None
        self._scope.cancel(reason="killed")
        await self._ended.wait()


@attrs.define(eq=False)
class TrioCluster:
    """Nodes that are broker and controller each."""

    members: dict[int, TrioNode]
    _nursery_start: Callable[..., Any]

    async def start(self, *node_ids: int) -> None:
        """Start these, or all; return when they are ready."""
        with trio.fail_after(START_TIMEOUT_S):
            async with trio.open_nursery() as starting:
                for node_id in node_ids or self.members:
                    starting.start_soon(self._nursery_start, self.members[node_id].run)

    def replicas(self, node_id: int) -> Replicas | None:
        """The parts of a running broker."""
        node = self.members[node_id].node
        return None if node is None or node.broker is None else node.broker.replicas

    @contextlib.asynccontextmanager
    async def connected(self, node_id: int) -> AsyncIterator[Connection]:
        """A connection to the client listener of one node."""
        async with connect("127.0.0.1", self.members[node_id].port, client_id="test") as connection:
            yield connection


@contextlib.asynccontextmanager
async def cluster_in(
    directory: Path, settings: Mapping[str, str] | None = None, count: int = 3
) -> AsyncIterator[TrioCluster]:
    """A running cluster of ``count`` nodes. The end of the block cancels the nodes that still run."""
    ports = free_ports(2 * count)
    voters = ",".join(f"{number}@127.0.0.1:{ports[number - 1]}" for number in range(1, count + 1))
    members = {}
    for number in range(1, count + 1):
        controller, client = ports[number - 1], ports[count + number - 1]
        own = {
            "node.id": str(number),
            "log.dirs": str(directory / str(number)),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
        }
        all_settings = {**SETTINGS, **_LIVELY, **(settings or {}), **own}
        members[number] = TrioNode(number, directory / str(number), all_settings, client)
    async with trio.open_nursery() as nursery:
        cluster = TrioCluster(members, nursery.start)
        await cluster.start()
        yield cluster
        nursery.cancel_scope.cancel(reason="the test is over")
