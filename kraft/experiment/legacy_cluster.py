"""A cluster with ZooKeeper for experiments: a controller that holds no partitions, and the brokers to be measured."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import attrs

from kraft.experiment.processes import NodeProcess, apache_node, free_ports, kraft_node, zookeeper

KRAFT, APACHE = "kraft", "Apache Kafka 3.9"
CONTROLLER_ID = 0
HOST = "127.0.0.1"
CLIENTS, CONTROLLER = "CLIENTS", "CONTROLLER"


@attrs.frozen
class Layout:
    """The parts of a cluster. ``software`` is that of the brokers."""

    directory: Path
    jars: Path
    software: str
    brokers: Sequence[int]
    has_control_plane: bool
    controller: str = APACHE
    """The software of the controller."""


@attrs.frozen
class RunningCluster:
    addresses: dict[int, tuple[str, int]]
    """Of the clients' listener of each node."""
    nodes: dict[int, NodeProcess]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())


@asynccontextmanager
async def running_cluster(layout: Layout) -> AsyncIterator[RunningCluster]:
    """Start ZooKeeper, the controller and the brokers; stop them in the other order at the end of the block.

    Raises CannotStart if one of them did not become ready.
    """
    ids = (CONTROLLER_ID, *layout.brokers)
    zookeeper_port, *ports = free_ports(1 + 2 * len(ids))
    async with AsyncExitStack() as stack:
        server = zookeeper(layout.directory / "zookeeper", layout.jars, zookeeper_port)
        await stack.enter_async_context(server.running())
        nodes: dict[int, NodeProcess] = {}
        addresses: dict[int, tuple[str, int]] = {}
        for place, node_id in enumerate(ids):
            own = ports[2 * place : 2 * place + 2]
            directory = layout.directory / f"node-{node_id}"
            properties = _properties(layout, node_id, directory, zookeeper_port, own)
            software = layout.controller if node_id == CONTROLLER_ID else layout.software
            is_ours = software == KRAFT
            node = kraft_node(directory, properties) if is_ours else apache_node(directory, layout.jars, properties)
            nodes[node_id] = await stack.enter_async_context(node.running())
            addresses[node_id] = HOST, own[0]
        yield RunningCluster(addresses, nodes)


def _properties(
    layout: Layout, node_id: int, directory: Path, zookeeper_port: int, ports: Sequence[int]
) -> dict[str, object]:
    clients, controller = ports
    properties: dict[str, object] = {
        "broker.id": node_id,
        "zookeeper.connect": f"{HOST}:{zookeeper_port}",
        "zookeeper.session.timeout.ms": 30_000,
        "log.dirs": directory / "data",
        "listeners": f"{CLIENTS}://{HOST}:{clients},{CONTROLLER}://{HOST}:{controller}",
        "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{CONTROLLER}:PLAINTEXT",
        "inter.broker.listener.name": CLIENTS,
        "auto.leader.rebalance.enable": "false",
        "auto.create.topics.enable": "false",
        "replica.lag.time.max.ms": 60_000,
        "log.retention.ms": -1,
    }
    if layout.has_control_plane:
        properties["control.plane.listener.name"] = CONTROLLER
    return properties
