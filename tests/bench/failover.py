"""The time without a controller after the leader of a quorum of three stops, compared with Apache Kafka with the same
timeouts.

It ends for a client when another controller has committed a change of the metadata.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import trio

from tests.bench.commit import KINDS, active_controller
from tests.bench.figures import Section, Table, ratio_goal
from tests.bench.peers import APACHE, KRAFT
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.quorum_view import wait_for_leader, wait_for_return

VOTERS = 3
TIMES_A_ROUND = 2
WARM_UP = 2
PAUSE_S = 0.002
IDLE_INTERVAL_S = 0.5
"""``metadata.max.idle.interval.ms``: the interval at which an idle leader appends a record for its followers."""


def measure(rounds: int) -> Section:
    """Both quorums run all the time; in each turn both lose their leader by SIGTERM and by ``kill -9``."""
    table = Table("From the signal to the next committed change", [*KINDS], base=APACHE)
    stopped, killed = table.row("SIGTERM", "s"), table.row("`kill -9`", "s")
    numbers = itertools.count()
    moments = random.Random(1)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kraft-bench-")))
        clusters = {
            name: stack.enter_context(running_cluster(scratch / name, members([kind] * VOTERS)))
            for name, kind in KINDS.items()
        }
        for turn in range(TIMES_A_ROUND * rounds + WARM_UP):
            for row, is_kill in ((stopped, False), (killed, True)):
                for name, cluster in clusters.items():
                    # Else a leader is killed at a moment that depends on how long nodes of its kind take to start.
                    time.sleep(moments.uniform(0, IDLE_INTERVAL_S))
                    lost_s = _lose_leader(cluster, is_kill, numbers)
                    if turn >= WARM_UP:
                        row.add(name, lost_s)
    goals = [
        ratio_goal(
            f"another controller after {what} no later than Apache's", row, KRAFT, APACHE, lambda ratio: ratio <= 1
        )
        for what, row in (("`kill -9`", killed), ("SIGTERM", stopped))
    ]
    return Section("failover", [table], goals)


def _lose_leader(cluster: Cluster, is_kill: bool, numbers: Iterator[int]) -> float:
    """Seconds until another has committed a change; after that the lost one comes back."""
    leader = wait_for_leader(cluster).leader_id
    ports = [cluster.nodes[voter].ports[1] for voter in cluster.voters if voter != leader]
    started = time.perf_counter()
    if is_kill:
        cluster.nodes[leader].kill()
    else:
        cluster.nodes[leader].signal(signal.SIGTERM)
    trio.run(active_controller, ports, numbers, PAUSE_S)
    lost_s = time.perf_counter() - started
    cluster.nodes[leader].wait_ended()
    cluster.start(leader)
    wait_for_return(cluster, leader)
    return lost_s
