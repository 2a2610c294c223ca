"""What it costs to commit a change of the metadata, beside what the disk charges for making it durable.

A change is one IncrementalAlterConfigs to the active controller, acknowledged when a majority has it on disk, seen by a
client on a connection of its own; one at a time. The disk is asked for an append of the same size and an fdatasync, in
the same directory, alternating with the changes.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import trio

from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kraft.rpc.client import Connection, connect
from kraft.wire.errors import ErrorCode
from tests.bench.figures import Section, Table, percentile, ratio_goal
from tests.bench.peers import APACHE, KRAFT
from tests.support.apache_process import Apache
from tests.support.cluster import members, running_cluster
from tests.support.fetchers import APACHE_KAFKA
from tests.support.node_process import OURS, Kind

CHANGES = 200
WARM_UP = 100
RECORD_BYTES = 110
BROKER = 4
DISK = "fdatasync"
LEADER_TIMEOUT_S = 30.0

KINDS: dict[str, Kind] = {KRAFT: OURS, APACHE: Apache(APACHE_KAFKA)}


def measure(rounds: int) -> Section:
    """Each round starts every quorum anew; a round gives one p50 and one p99 of each."""
    table = Table("One committed change of the metadata", [*KINDS, DISK], base=APACHE)
    numbers = itertools.count()
    for _ in range(rounds):
        for name, kind in KINDS.items():
            for voters in (1, 3):
                disk, commits = _once(kind, voters, numbers)
                for row, share in (("p50", 0.5), ("p99", 0.99)):
                    quorum = table.row(f"{row}, {voters} voter{'s' * (voters > 1)}", "ms")
                    quorum.add(name, percentile(commits, share))
                    if name == KRAFT:
                        quorum.add(DISK, percentile(disk, share))
    goals = [
        ratio_goal(f"p50 of a commit by {what} at most {most}× that of the disk", row, KRAFT, DISK, _at_most(most))
        for what, most, row in (
            ("a quorum of one", 1.5, table.row("p50, 1 voter", "ms")),
            ("three voters on one machine", 3.0, table.row("p50, 3 voters", "ms")),
        )
    ]
    return Section("commit", [table], goals)


def _at_most(most: float) -> Callable[[float], bool]:
    return lambda ratio: ratio <= most


def _once(kind: Kind, voters: int, numbers: Iterator[int]) -> tuple[list[float], list[float]]:
    """Milliseconds that the disk took, and that the commits took."""
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        quiet = {"metadata_max_idle_interval_ms": "0"}  # nothing else is committed meanwhile
        with running_cluster(Path(scratch), members([kind] * voters), **quiet) as cluster:
            ports = [cluster.nodes[voter].ports[1] for voter in cluster.voters]
            return trio.run(_measure, ports, Path(scratch) / "disk", numbers)


async def _measure(ports: list[int], path: Path, numbers: Iterator[int]) -> tuple[list[float], list[float]]:
    disk: list[float] = []
    commits: list[float] = []
    port = await active_controller(ports, numbers, 0.1)
    async with connect("127.0.0.1", port) as controller:
        fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            for number in range(WARM_UP + CHANGES):
                durable_ms = _append_ms(fd)
                started = time.perf_counter()
                assert await change(controller, next(numbers)) is ErrorCode.NONE
                commit_ms = (time.perf_counter() - started) * 1000
                if number >= WARM_UP:
                    disk.append(durable_ms)
                    commits.append(commit_ms)
        finally:
            os.close(fd)
    return disk, commits


def _append_ms(fd: int) -> float:
    started = time.perf_counter()
    os.write(fd, bytes(RECORD_BYTES))
    os.fdatasync(fd)
    return (time.perf_counter() - started) * 1000


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
    config = AlterableConfig("log.retention.ms", 0, str(number + 1))
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(BROKER, "", [config])])
    response = await controller.request(request)
    assert isinstance(response, IncrementalAlterConfigsResponse)
    return ErrorCode(response.responses[0].error_code)
