"""Campaigns on Spark beside plain processes: what a seed costs, and what the start costs.

Both run the same seeds on two cores, a small campaign and a large one. The difference of the two is the time of the
seeds between them; the rest of the small one is the start of the JVM and of its workers.
"""

from __future__ import annotations

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


def measure(rounds: int, small: int = SMALL, large: int = LARGE) -> Section:
    if find_spec("pyspark") is None:
        return Section("campaign", notes=["Spark was not measured: PySpark is not installed."])
    table = Table(f"Campaigns of {small} and {large} seeds on two cores", [*OPTIONS])
    seed = table.row("a seed", "ms")
    whole = table.row(f"{large} seeds and the start", "s")
    start = table.row("the start", "s")
    for _ in range(rounds):
        for name, options in OPTIONS.items():
            small_s, large_s = _campaign_s(small, options), _campaign_s(large, options)
            seed_s = (large_s - small_s) / (large - small)
            seed.add(name, seed_s * 1000)
            whole.add(name, large_s)
            start.add(name, max(0.0, small_s - seed_s * small))
    claim = f"a seed of a campaign on Spark at most {MOST_OVERHEAD:.2f}× a seed of plain processes"
    return Section("campaign", [table], [ratio_goal(claim, seed, SPARK, PLAIN, lambda ratio: ratio <= MOST_OVERHEAD)])


def _campaign_s(seeds: int, options: Sequence[str]) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-m", "kraft", "simulate", "--seeds", f"0:{seeds}", *options]
    subprocess.run(
        command, env=environment(), timeout=TIMEOUT_S, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - started
