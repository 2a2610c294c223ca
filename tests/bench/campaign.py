"""Campaigns on Spark beside plain processes: what a seed costs, and what the start costs.

Both run the same seeds on two cores, a small campaign and a large one. The difference of the two is the cost of the
seeds between them; the rest of the small one is the start of the JVM and of its workers. CPU time counts all processes
of a campaign. It says more than the elapsed time where other programs share the machine.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from tests.bench.figures import Section, Table, ratio_goal
from tests.support.node_process import environment

PLAIN, SPARK = "processes", "Spark"
OPTIONS: Mapping[str, Sequence[str]] = {PLAIN: ("--jobs", "2"), SPARK: ("--spark", "local[2]")}
SMALL, LARGE = 200, 2_200
TIMEOUT_S = 1_800.0
MOST_OVERHEAD = 1.10
_PR_SET_CHILD_SUBREAPER = 36


def measure(rounds: int, small: int = SMALL, large: int = LARGE) -> Section:
    if find_spec("pyspark") is None:
        return Section("campaign", notes=["Spark was not measured: PySpark is not installed."])
    table = Table(f"Campaigns of {small} and {large} seeds on two cores", [*OPTIONS])
    seed = table.row("CPU of a seed", "ms")
    elapsed = table.row("time of a seed", "ms")
    whole = table.row(f"CPU of {large} seeds and the start", "s")
    start = table.row("CPU of the start", "s")
    for _ in range(rounds):
        for name, options in OPTIONS.items():
            cpu_small, wall_small = _campaign(small, options)
            cpu_large, wall_large = _campaign(large, options)
            per_seed = (cpu_large - cpu_small) / (large - small)
            seed.add(name, per_seed * 1000)
            elapsed.add(name, (wall_large - wall_small) / (large - small) * 1000)
            whole.add(name, cpu_large)
            start.add(name, max(0.0, cpu_small - per_seed * small))
    goals = [
        ratio_goal(
            f"a seed of a campaign on Spark at most {MOST_OVERHEAD:.2f}× a seed of plain processes, {what}",
            row,
            SPARK,
            PLAIN,
            lambda ratio: ratio <= MOST_OVERHEAD,
        )
        for what, row in (("CPU", seed), ("time", elapsed), (f"CPU with the start, of {large}", whole))
    ]
    return Section("campaign", [table], goals)


def _campaign(seeds: int, options: Sequence[str]) -> tuple[float, float]:
    """Return the CPU seconds of all processes, and the seconds until the command ended.

    The command leaves its JVM behind, which ends a little later. As a subreaper this process can wait for it.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "kraft", "simulate", "--seeds", f"0:{seeds}", *options]
    subprocess.run(
        command, env=environment(), timeout=TIMEOUT_S, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wall_s = time.perf_counter() - started
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu_s, wall_s
