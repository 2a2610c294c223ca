"""A cluster of processes under attack, and what a campaign reads of it: long steps, memory, epoch, fenced brokers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.abuse.watched_node import STEPS
from tests.fuzz.strike import Address
from tests.support.cluster import BOTH, Cluster, Member, running_cluster
from tests.support.node_process import Kind, NodeProcess
from tests.support.quorum_view import wait_for_leader

SETTINGS = {
    "auto_create_topics_enable": "false",
    "group_initial_rebalance_delay_ms": "3000",
    "log_cleaner_backoff_ms": "1000",
    "offsets_topic_num_partitions": "4",
}
_CLEAR_PEAK = "5"


@attrs.frozen
class Step:
    """A step of a task of the node: ``cpu_ms`` of its event loop, of which the garbage collector took ``gc_ms``."""

    task: str
    api: str
    cpu_ms: int
    gc_ms: int

    def __str__(self) -> str:
        work = f"{self.task} of {self.api}" if self.api else self.task
        return f"{self.cpu_ms} ms by {work}" + (f" (collector {self.gc_ms})" if self.gc_ms else "")


@attrs.define
class Target:
    """The active controller of a combined cluster, which is a broker, too."""

    cluster: Cluster
    broker_id: int
    _steps_read: int = 0

    @property
    def node(self) -> NodeProcess:
        return self.cluster.nodes[self.broker_id]

    @property
    def address(self) -> Address:
        return "127.0.0.1", self.node.ports[0]

    @property
    def controller_address(self) -> Address:
        return "127.0.0.1", self.node.ports[1]

    @property
    def is_alive(self) -> bool:
        """Whether all nodes run."""
        return all(node.is_running for node in self.cluster.nodes.values())

    def new_steps(self) -> list[Step]:
        """Return the long steps since the last call, those of Apache's nodes never."""
        path = self.node.directory / STEPS
        if not path.exists():
            return []
        lines = path.read_text().splitlines()
        new, self._steps_read = lines[self._steps_read :], len(lines)
        return [Step(**json.loads(line)) for line in new]

    def fenced(self) -> int:
        """Count how often a broker was fenced, as it logged."""
        lines = (line for node in self.cluster.nodes.values() for line in node.output)
        return sum("this broker is fenced" in line for line in lines)

    def resident_mib(self, key: str = "VmRSS") -> int:
        """A line of the process's status: its resident memory, now or (``VmHWM``) at most."""
        for line in Path(f"/proc/{self.node.pid}/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) // 1024
        raise KeyError(key)

    def forget_peak(self) -> None:
        Path(f"/proc/{self.node.pid}/clear_refs").write_text(_CLEAR_PEAK)


@contextlib.contextmanager
def running_target(directory: Path, kind: Kind, nodes: int) -> Iterator[Target]:
    """Run a cluster of combined nodes until the block ends."""
    members = {node_id: Member(kind, BOTH) for node_id in range(1, nodes + 1)}
    with running_cluster(directory, members, **SETTINGS) as cluster:
        yield Target(cluster, wait_for_leader(cluster).leader_id)
