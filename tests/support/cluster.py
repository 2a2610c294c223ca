"""A cluster of real processes: any mix of our nodes and Apache Kafka's, as controllers, brokers, or both.

The voters are static (``controller.quorum.voters``), as they must be for nodes of the 3.9 line and ours to be in one
quorum. With ``links``, all connections to a voter pass through a proxy, so that a test can cut the network.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from tests.support.node_process import OURS, Kind, NodeProcess, free_ports
from tests.support.proxy import Door, Links, running_links

CONTROLLER, BROKER, BOTH = "controller", "broker", "broker,controller"
FIRST_BROKER = 101
SHOWN_LINES = 40

QUICK_FAILOVER = {
    "broker_session_timeout_ms": "2000",
    "broker_heartbeat_interval_ms": "400",
    "controller_quorum_fetch_timeout_ms": "1000",
    "controller_quorum_election_timeout_ms": "500",
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "3000",
}
"""Settings with which a cluster replaces a dead leader or controller within a few seconds."""


@attrs.frozen
class Member:
    """The kind and the roles of a node of the cluster."""

    kind: Kind = OURS
    roles: str = CONTROLLER

    @property
    def is_voter(self) -> bool:
        return "controller" in self.roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles


def members(controllers: Iterable[Kind] = (), brokers: Iterable[Kind] = ()) -> dict[int, Member]:
    """Dedicated controllers with ids from 1, dedicated brokers with ids from 101."""
    return {
        **{node_id: Member(kind, CONTROLLER) for node_id, kind in enumerate(controllers, 1)},
        **{node_id: Member(kind, BROKER) for node_id, kind in enumerate(brokers, FIRST_BROKER)},
    }


@attrs.define
class Cluster:
    """The nodes by id. A node may be down, or of another kind after ``become``; its directory and ports stay."""

    directory: Path
    members: dict[int, Member]
    settings: Mapping[str, str] = attrs.Factory(dict)
    links: Links | None = None
    nodes: dict[int, NodeProcess] = attrs.Factory(dict)

    def __attrs_post_init__(self) -> None:
        for node_id, member in self.members.items():
            self.nodes[node_id] = NodeProcess(self.directory / str(node_id), ports=free_ports(2), kind=member.kind)

    @property
    def voters(self) -> list[int]:
        return [node_id for node_id, member in self.members.items() if member.is_voter]

    @property
    def brokers(self) -> list[int]:
        return [node_id for node_id, member in self.members.items() if member.is_broker]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.nodes[node_id].bootstrap_servers for node_id in self.brokers)

    def answering(self) -> list[int]:
        """The voters that run and are not paused."""
        return [each for each in self.voters if self.nodes[each].is_running and not self.nodes[each].is_paused]

    def _advertised(self, port: int) -> int:
        """The port at which others reach the node that listens on ``port``."""
        return port if self.links is None else self.links.ports.get(port, port)

    def _settings(self, node_id: int) -> dict[str, str]:
        member, (client, controller) = self.members[node_id], self.nodes[node_id].ports
        listeners = {"PLAINTEXT": client} if member.is_broker else {}
        if member.is_voter:
            listeners["CONTROLLER"] = controller
        bound = [f"{name}://127.0.0.1:{port}" for name, port in listeners.items()]
        advertised = [f"{name}://127.0.0.1:{self._advertised(port)}" for name, port in listeners.items()]
        voters = ",".join(f"{voter}@127.0.0.1:{self._advertised(self.nodes[voter].ports[1])}" for voter in self.voters)
        proxied = {"advertised.listeners": ",".join(advertised)} if advertised != bound else {}
        return {
            "process.roles": member.roles,
            "node.id": str(node_id),
            "listeners": ",".join(bound),
            "controller.quorum.voters": voters,
            **proxied,
            **self.settings,
        }

    def start(self, *node_ids: int) -> None:
        """Start these nodes (all, if none is named) side by side, and wait until each has.

        Most nodes are ready only when there is a leader, so voters that make no majority would wait until its deadline.
        """
        chosen = node_ids or tuple(self.nodes)
        for node_id in chosen:
            node = self.nodes[node_id]
            node.settings = self._settings(node_id)
            node.launch()
            if self.links is not None:
                self.links.belongs_to(node_id, node.pid)
        for node_id in chosen:
            self.nodes[node_id].wait_ready()

    def become(self, node_id: int, kind: Kind) -> None:
        """The version that this node will run after its next start, on the same directory."""
        assert not self.nodes[node_id].is_running
        self.members[node_id] = attrs.evolve(self.members[node_id], kind=kind)
        self.nodes[node_id].kind = kind

    def kill(self) -> None:
        """Kill all running nodes with SIGKILL."""
        for node in self.nodes.values():
            node.kill()

    def last_words(self) -> str:
        """The end of what each node printed."""
        texts = [f"--- node {node_id}\n{''.join(node.output[-SHOWN_LINES:])}" for node_id, node in self.nodes.items()]
        return "\n".join(texts)


@contextlib.contextmanager
def running_cluster(
    directory: Path, members: dict[int, Member], *, with_links: bool = False, **settings: str
) -> Iterator[Cluster]:
    """Start a cluster. The end of the block kills it, also after an error.

    The last lines of each node are printed if the block fails, and in pytest always: it shows them only of a test that
    failed, and a fixture does not see that. Settings: dots written as underscores.
    """
    values = {key.replace("_", "."): value for key, value in settings.items()}
    with contextlib.ExitStack() as stack:
        cluster = Cluster(directory, members, values)
        if with_links:
            ports = [(voter, port) for voter in cluster.voters for port in cluster.nodes[voter].ports]
            doors = [Door(*listener, port) for port, listener in zip(free_ports(len(ports)), ports, strict=True)]
            cluster.links = stack.enter_context(running_links(doors))
        stack.callback(cluster.kill)
        try:
            cluster.start()
            yield cluster
        except BaseException:
            print(cluster.last_words())
            raise
        else:
            if "PYTEST_CURRENT_TEST" in os.environ:
                print(cluster.last_words())
