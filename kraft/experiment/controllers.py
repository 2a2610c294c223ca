"""Clusters of controllers in both generations, each with stub brokers that lead the partitions."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import attrs
import trio

from kraft.experiment.legacy_cluster import KRAFT
from kraft.experiment.processes import (
    STOP_TIMEOUT_S,
    CannotStart,
    NodeProcess,
    apache_node,
    format_command,
    free_ports,
    kraft_node,
    write_properties,
    zookeeper,
)
from kraft.experiment.stub_brokers import HOST, LISTENER, legacy_brokers, quorum_brokers
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.rpc.client import Connection, open_connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.world.clock import Clock
from kraft.world.world import World
from kraft.zookeeper.operations import Get, Znode
from kraft.zookeeper.session import ZooKeeperSession, session
from kraft.zookeeper.znodes.controllers import CONTROLLER, decode_controller

ACTIVE_TIMEOUT_S = 600.0
POLL_S = 0.005
ZOOKEEPER_SESSION_MS = 6000
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
RELEASE, LEVEL = "3.9", 21
STUBS = (101, 102, 103)
CANDIDATES = (1, 2, 3)
_LISTENER = "CONTROLLER"


@attrs.define
class Controllers:
    """Nodes of which one is the active controller."""

    nodes: Mapping[int, NodeProcess]
    addresses: Mapping[int, tuple[str, int]]
    elected: Callable[[], Awaitable[tuple[int, float] | None]]
    """Returns the id of the active controller and the time of its election, in milliseconds since the epoch."""

    async def active(self, *, other_than: int | None = None) -> tuple[int, float]:
        """Wait for an active controller. Raises trio.TooSlowError."""
        with trio.fail_after(ACTIVE_TIMEOUT_S):
            while True:
                found = await self.elected()
                if found is not None and found[0] != other_than:
                    return found
                await trio.sleep(POLL_S)

    async def on_active(self, use: Callable[[Connection], Awaitable[None]]) -> None:
        """Call ``use`` with a connection to the active controller, until it succeeds. Raises trio.TooSlowError."""
        with trio.fail_after(ACTIVE_TIMEOUT_S):
            while True:
                node_id, _ = await self.active()
                with suppress(OSError, KafkaError):
                    connection = await open_connection(*self.addresses[node_id], "experiment", ACTIVE_TIMEOUT_S)
                    try:
                        await use(connection)
                        return
                    finally:
                        connection.close()
                await trio.sleep(POLL_S)


@asynccontextmanager
async def legacy_controllers(directory: Path, jars: Path, software: str) -> AsyncIterator[Controllers]:
    """Run nodes with ZooKeeper. They are brokers, too, but only the stubs have partitions.

    Raises CannotStart if a process did not become ready.
    """
    port, *ports = free_ports(1 + len(CANDIDATES))
    connect = f"{HOST}:{port}"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(zookeeper(directory / "zookeeper", jars, port).running())
        nodes: dict[int, NodeProcess] = {}
        for node_id, own in zip(CANDIDATES, ports, strict=True):
            home = directory / f"node-{node_id}"
            properties: dict[str, object] = {
                "broker.id": node_id,
                "zookeeper.connect": connect,
                "zookeeper.session.timeout.ms": ZOOKEEPER_SESSION_MS,
                "log.dirs": home / "data",
                "listeners": f"{LISTENER}://{HOST}:{own}",
                "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT",
                "inter.broker.listener.name": LISTENER,
                "auto.leader.rebalance.enable": "false",
            }
            node = kraft_node(home, properties) if software == KRAFT else apache_node(home, jars, properties)
            nodes[node_id] = await stack.enter_async_context(node.running())
        opened = await stack.enter_async_context(session(World(), connect, 30.0, 30.0))
        await stack.enter_async_context(legacy_brokers(STUBS, connect))
        # Killed before the stubs leave: a controller would look for other leaders of all partitions.
        stack.push_async_callback(_kill_all, nodes.values())
        addresses = {node_id: (HOST, own) for node_id, own in zip(CANDIDATES, ports, strict=True)}
        yield Controllers(nodes, addresses, lambda: _of_znode(opened))


async def _kill_all(nodes: Iterable[NodeProcess]) -> None:
    with trio.move_on_after(STOP_TIMEOUT_S, shield=True):
        for node in nodes:
            await node.kill()


async def _of_znode(opened: ZooKeeperSession) -> tuple[int, float] | None:
    (found,) = await opened.perform((Get(CONTROLLER),))
    if not isinstance(found, Znode):
        return None
    controller = decode_controller(found.data)
    return controller.broker_id, controller.timestamp_ms


@asynccontextmanager
async def quorum_controllers(directory: Path, jars: Path, software: str) -> AsyncIterator[Controllers]:
    """Run three voters, without any broker but the stubs.

    Raises CannotStart if a process did not become ready, or its directory was not formatted.
    """
    ports = free_ports(len(CANDIDATES))
    addresses = {node_id: (HOST, own) for node_id, own in zip(CANDIDATES, ports, strict=True)}
    voters = ",".join(f"{node_id}@{host}:{port}" for node_id, (host, port) in addresses.items())
    async with AsyncExitStack() as stack:
        nodes: dict[int, NodeProcess] = {}
        for node_id, (host, port) in addresses.items():
            home = directory / f"node-{node_id}"
            properties: dict[str, object] = {
                "process.roles": "controller",
                "node.id": node_id,
                "listeners": f"{_LISTENER}://{host}:{port}",
                "controller.listener.names": _LISTENER,
                "listener.security.protocol.map": f"{_LISTENER}:PLAINTEXT,{LISTENER}:PLAINTEXT",
                "controller.quorum.voters": voters,
                "log.dirs": home / "data",
                "broker.session.timeout.ms": 60_000,
            }
            path = write_properties(home / "server.properties", properties)
            command = format_command(jars, path, CLUSTER_ID, RELEASE, is_ours=software == KRAFT)
            await _run(command)
            node = kraft_node(home, properties) if software == KRAFT else apache_node(home, jars, properties)
            nodes[node_id] = node
        async with trio.open_nursery() as nursery:  # the first one is ready only with a majority
            for node in nodes.values():
                nursery.start_soon(stack.enter_async_context, node.running())
        clock = Clock()
        controllers = Controllers(nodes, addresses, lambda: _of_quorum(nodes, addresses, clock))
        await stack.enter_async_context(quorum_brokers(STUBS, CLUSTER_ID, LEVEL, controllers.on_active))
        yield controllers


async def _run(command: Sequence[str]) -> None:
    done = await trio.run_process(command, capture_stdout=True, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise CannotStart(f"{' '.join(command)}\n{done.stdout.decode(errors='replace')}")


async def _of_quorum(
    nodes: Mapping[int, NodeProcess], addresses: Mapping[int, tuple[str, int]], clock: Clock
) -> tuple[int, float] | None:
    """Return the voter that says it leads, and the present time."""
    request = DescribeQuorumRequest(topics=[TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])])
    for node_id, node in nodes.items():
        if not node.is_running:
            continue
        with suppress(OSError, KafkaError, trio.TooSlowError):
            connection = await open_connection(*addresses[node_id], "experiment", 2.0)
            try:
                response = await connection.request(request)
            finally:
                connection.close()
            assert isinstance(response, DescribeQuorumResponse)
            if response.error_code == ErrorCode.NONE and response.topics:
                partition = response.topics[0].partitions[0]
                if partition.error_code == ErrorCode.NONE and partition.leader_id == node_id:
                    return node_id, clock.now_s() * 1000
    return None
