"""From nothing to the first record: process start, idle memory, a new consumer group, the embedded cluster."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.clients import create_topic, first_record_ms, produce
from tests.bench.figures import Goal, Row, Section, Table, limit_goal
from tests.bench.peers import KRAFT, Peer, in_turns
from tests.support.node_process import environment

SETTLE_S = 2.0
READY_LIMIT_S, RSS_LIMIT_MIB, FIRST_RECORD_LIMIT_MS, EMBEDDED_LIMIT_MS = 0.5, 80, 300, 100

#: Prints the milliseconds that the embedded cluster takes once its module is imported.
EMBEDDED = """
import time
from kraft.testing import EmbeddedCluster
started = time.perf_counter()
with EmbeddedCluster():
    print((time.perf_counter() - started) * 1000)
"""


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Each round starts and stops every broker in a new, formatted directory; no other broker runs meanwhile."""
    table = Table("From the start of the process", [peer.name for peer in peers], base="Apache")
    ready = table.row("first answer to Metadata", "s")
    again = table.row("the same after kill -9", "s")
    memory = table.row("idle memory (RSS)", "MiB")
    first = table.row("first record of a new consumer group", "ms")
    for number in range(rounds):
        for peer in in_turns(peers, number):
            _once(peer, ready, again, memory, first)
    goals = [
        limit_goal("ready for clients within 0.5 s of process start", ready, KRAFT, READY_LIMIT_S),
        limit_goal("idle memory at most 80 MiB", memory, KRAFT, RSS_LIMIT_MIB),
        limit_goal("first record of a new consumer group within 300 ms", first, KRAFT, FIRST_RECORD_LIMIT_MS),
    ]
    embedded, goal = _embedded(rounds)
    return Section("startup", [table, embedded], [*goals, goal])


def _once(peer: Peer, ready: Row, again: Row, memory: Row, first: Row) -> None:
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        directory = Path(scratch) / peer.name
        broker = peer.start(directory)
        try:
            ready.add(peer.name, broker.ready_s)
            time.sleep(SETTLE_S)
            memory.add(peer.name, broker.rss_mib())
            topic = create_topic(broker.bootstrap_servers, 1)
            produce(broker.bootstrap_servers, topic, 1, 100, **{"linger.ms": 0})
            # The first group of all makes the broker set up its offsets topic: that is part of it.
            first.add(peer.name, first_record_ms(broker.bootstrap_servers, topic, "group-1"))
            broker.process.kill()
            broker.process.wait()
            if peer.keeps_on_disk:
                broker = peer.start(directory, port=broker.port)
                again.add(peer.name, broker.ready_s)
        finally:
            broker.stop()


def _embedded(rounds: int) -> tuple[Table, Goal]:
    """In a process of its own each time, since a second cluster in one process finds everything compiled."""
    claim = "an embedded cluster within 100 ms, once imported"
    table = Table("The embedded cluster, once its module is imported", [KRAFT])
    row = table.row("`with EmbeddedCluster()` until clients may connect", "ms")
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", EMBEDDED], capture_output=True, text=True, check=True, timeout=60, env=environment()
        )
        row.add(KRAFT, float(done.stdout))
    return table, limit_goal(claim, row, KRAFT, EMBEDDED_LIMIT_MS)
