"""The cost of one committed change of the metadata, compared with the disk's time to make it durable.

A change is one IncrementalAlterConfigs to the active controller, one at a time. Before each change the benchmark
measures an append of the same size with an fdatasync, in the same directory. The slower follower of three still writes
then. Afterwards it measures the disk as often while the quorum is idle. There are two times. The leader itself measures
``commit-latency-avg`` (KIP-595), from the append to the commit. The client's time also includes the request, the
decision and the response. The leader's average covers the last half minute, warm-up included. The benchmark subtracts
the part from before the first measured change.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import struct
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import attrs
import trio

from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kraft.rpc.client import Connection, connect
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode
from tests.bench.figures import Row, Section, Table, percentile, ratio_goal
from tests.bench.peers import APACHE, KRAFT
from tests.support.apache_process import Apache
from tests.support.cluster import members, running_cluster
from tests.support.fetchers import APACHE_KAFKA
from tests.support.node_process import OURS, Kind, free_ports
from tests.support.quorum_view import wait_for_leader
from tests.support.wire_client import WireClient, wire_client

CHANGES = 300
WARM_UP = 200
RECORD_BYTES = 110
BROKER = 4
DISK = "fdatasync"
ALONE = "fdatasync, quorum at rest"
LEADER_TIMEOUT_S = 30.0
METRICS_TIMEOUT_S = 60.0
CLIENT_ID = b"bench"
VERSION = 1

KINDS: dict[str, Kind] = {KRAFT: OURS, APACHE: Apache(APACHE_KAFKA)}


class _Told(Kind, Protocol):
    """A node with readable metrics."""

    def commit_latency_ms(self) -> float:
        """``kafka.server:type=raft-metrics``, ``commit-latency-avg``."""


@attrs.frozen
class _TellingOurs:
    """This project's node, which serves its metrics by HTTP."""

    port: int
    ready_mark: str = OURS.ready_mark
    ready_timeout_s: float = OURS.ready_timeout_s

    def format_command(self, properties: Path) -> list[str]:
        return OURS.format_command(properties)

    def run_command(self, properties: Path) -> list[str]:
        return [*OURS.run_command(properties), "--override", f"kraft.metrics.listener=127.0.0.1:{self.port}"]

    def commit_latency_ms(self) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=METRICS_TIMEOUT_S) as answer:
            return _number(r"^\w+commit_latency_avg\S* (\S+)", answer.read().decode())


@attrs.frozen
class _TellingApache(Apache):
    """Apache Kafka's node, which serves its metrics by JMX."""

    port: int = attrs.field(kw_only=True)

    def run_command(self, properties: Path) -> list[str]:
        java, *rest = super().run_command(properties)
        options = {"port": self.port, "rmi.port": self.port, "authenticate": "false", "ssl": "false"}
        jmx = [f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in options.items()]
        return [java, *jmx, "-Djava.rmi.server.hostname=127.0.0.1", *rest]

    def commit_latency_ms(self) -> float:
        url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{self.port}/jmxrmi"
        asked = ["--object-name", "kafka.server:type=raft-metrics", "--attributes", "commit-latency-avg"]
        form = ["--one-time", "--report-format", "properties"]
        command = self.java("org.apache.kafka.tools.JmxTool", "--jmx-url", url, *asked, *form)
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=METRICS_TIMEOUT_S)
        return _number(r"commit-latency-avg=(\S+)", told.stdout)


TELLING: dict[str, Callable[[int], _Told]] = {
    KRAFT: lambda port: _TellingOurs(port),
    APACHE: lambda port: _TellingApache(APACHE_KAFKA, port=port),
}


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"no {pattern} in {text}"
    return float(found[1])


@attrs.frozen
class _Times:
    """The times of one quorum and of the disk, in milliseconds."""

    disk: list[float]
    disk_alone: list[float]
    client: list[float]
    leader_mean: float


def measure(rounds: int) -> Section:
    """Each round starts every quorum anew; a round gives one figure for each row."""
    table = Table("One committed change of the metadata", [*TELLING, DISK, ALONE], base=APACHE)
    rows = {voters: _Rows.of(table, f"{voters} voter{'s' * (voters > 1)}") for voters in (1, 3)}
    numbers = itertools.count()
    for _ in range(rounds):
        for name in TELLING:
            for voters, row in rows.items():
                row.add(name, _once(name, voters, numbers))
    goals = [
        ratio_goal(f"{what} by {who} at most {most}× that of {whose}", row, KRAFT, disk, _at_most(most))
        for who, most, of in (("a quorum of one", 2.5, rows[1]), ("three voters on one machine", 4.0, rows[3]))
        for what, row in (("`commit-latency-avg`", of.leader), ("p50 of a change seen by a client", of.p50))
        for whose, disk in (("the disk", DISK), ("the disk while the quorum rests", ALONE))
    ]
    return Section("commit", [table], goals)


@attrs.frozen
class _Rows:
    """Return the table rows for quorums of one size."""

    leader: Row
    p50: Row
    p99: Row

    @classmethod
    def of(cls, table: Table, voters: str) -> _Rows:
        return cls(
            table.row(f"`commit-latency-avg`, {voters}", "ms"),
            table.row(f"seen by a client: p50, {voters}", "ms"),
            table.row(f"seen by a client: p99, {voters}", "ms"),
        )

    def add(self, name: str, times: _Times) -> None:
        self.leader.add(name, times.leader_mean)
        self.p50.add(name, percentile(times.client, 0.5))
        self.p99.add(name, percentile(times.client, 0.99))
        if name == KRAFT:
            for disk, taken in ((DISK, times.disk), (ALONE, times.disk_alone)):
                self.leader.add(disk, statistics.fmean(taken))
                self.p50.add(disk, percentile(taken, 0.5))
                self.p99.add(disk, percentile(taken, 0.99))


def _at_most(most: float) -> Callable[[float], bool]:
    return lambda ratio: ratio <= most


def _once(name: str, voters: int, numbers: Iterator[int]) -> _Times:
    kinds = [TELLING[name](port) for port in free_ports(voters)]
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        quiet = {"metadata_max_idle_interval_ms": "0"}  # nothing else is committed meanwhile
        with running_cluster(Path(scratch), members(kinds), **quiet) as cluster:
            ports = [cluster.nodes[voter].ports[1] for voter in cluster.voters]
            trio.run(active_controller, ports, numbers, 0.1)
            leader = wait_for_leader(cluster).leader_id
            told = kinds[cluster.voters.index(leader)].commit_latency_ms
            with wire_client(cluster.nodes[leader].controller_address) as client:
                path = Path(scratch) / "disk"
                _alternate(client, path, numbers, WARM_UP)
                before_ms = told()
                disk, seen = _alternate(client, path, numbers, CHANGES)
                mean_ms = _mean_of_last(before_ms, WARM_UP, told(), CHANGES)
                alone = _alone(path, statistics.median(seen) / 1000, CHANGES)
            return _Times(disk, alone, seen, mean_ms)


def _mean_of_last(mean_before: float, before: int, mean: float, last: int) -> float:
    """Return the mean of the ``last`` values. ``mean`` is that of all values, ``mean_before`` that of the ``before``
    first ones.
    """
    return (mean * (before + last) - mean_before * before) / last


def _alternate(client: WireClient, path: Path, numbers: Iterator[int], count: int) -> tuple[list[float], list[float]]:
    """Milliseconds that the disk took, and that ``count`` changes took."""
    disk: list[float] = []
    changes: list[float] = []
    with path.open("ab") as file:
        for _ in range(count):
            disk.append(_append_ms(file.fileno()))
            changes.append(_change_ms(client, next(numbers)))
    return disk, changes


def _alone(path: Path, pause_s: float, count: int) -> list[float]:
    """Milliseconds that the disk took, with as much time in between as a change takes."""
    disk: list[float] = []
    with path.open("ab") as file:
        for _ in range(count):
            disk.append(_append_ms(file.fileno()))
            time.sleep(pause_s)
    return disk


def _append_ms(fd: int) -> float:
    started = time.perf_counter()
    os.write(fd, bytes(RECORD_BYTES))
    os.fdatasync(fd)
    return (time.perf_counter() - started) * 1000


def _change_ms(client: WireClient, number: int) -> float:
    """From the request to the answer, as bytes: encoding and decoding them is not the node's."""
    header = struct.pack(">hhih", IncrementalAlterConfigsRequest.API_KEY, VERSION, number, len(CLIENT_ID)) + CLIENT_ID
    frame = header + b"\0" + encode(_request(number), VERSION)
    started = time.perf_counter()
    client.send_bytes(frame)
    answer = client.receive_bytes()
    taken_ms = (time.perf_counter() - started) * 1000
    response, _ = decode(IncrementalAlterConfigsResponse, VERSION, answer, 5)
    assert response.responses[0].error_code == ErrorCode.NONE
    return taken_ms


async def active_controller(ports: Sequence[int], numbers: Iterator[int], pause_s: float) -> int:
    """The controller that takes a change, once one does."""
    with trio.fail_after(LEADER_TIMEOUT_S):
        while True:
            for port in ports:
                async with connect("127.0.0.1", port) as controller:
                    if await change(controller, next(numbers)) is ErrorCode.NONE:
                        return port
            await trio.sleep(pause_s)


async def change(controller: Connection, number: int) -> ErrorCode:
    """Set the retention of all brokers: NONE when that is committed."""
    response = await controller.request(_request(number))
    assert isinstance(response, IncrementalAlterConfigsResponse)
    return ErrorCode(response.responses[0].error_code)


def _request(number: int) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig("log.retention.ms", 0, str(number + 1))
    return IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(BROKER, "", [config])])
