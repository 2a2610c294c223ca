"""``python -m tests.coordinator.transactions.campaign 0:1000``: the world of transactions, for many seeds.

Each seed runs once with the first protocol, and once with epochs that rise at each end (``transaction.version`` 2). A
seed that breaks a guarantee is printed with its error; ``--seed N`` runs it alone, with the whole traceback.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import traceback
from collections import Counter

import attrs

from tests.coordinator.transactions.world import TransactionalWorld

STEPS = 1500
VERSIONS = (0, 2)
REACHED = ("aborted", "committed", "elections", "fenced markers", "late markers")
"""The events without which a campaign shows nothing."""


@attrs.frozen
class WorldResult:
    """The result of one seed in one protocol. ``broken`` is None if all guarantees held."""

    seed: int
    version: int
    counts: Counter[str]
    broken: str | None


def run_world(seed: int, version: int) -> WorldResult:
    """Run a seed. Nothing is raised."""
    world = TransactionalWorld(seed, version)
    broken = None
    try:
        world.run(STEPS)
    except Exception:  # an error of the core, or a broken guarantee
        broken = traceback.format_exc()
    return WorldResult(seed, version, world.counts, broken)


def run_campaign(seeds: range, jobs: int) -> int:
    """Run the seeds in ``jobs`` processes, print the result, and return the exit status."""
    began_s, counts, failed = time.monotonic(), Counter[str](), 0
    worlds = [(seed, version) for seed in seeds for version in VERSIONS]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for result in pool.starmap(run_world, worlds, chunksize=16):
            counts.update(result.counts)
            if result.broken is not None:
                failed += 1
                last = result.broken.strip().splitlines()[-1]
                print(f"seed {result.seed}, transaction.version {result.version}: {last}")
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    print(f"{len(worlds)} worlds, {failed} failed, in {time.monotonic() - began_s:.0f} s")
    unreached = [what for what in REACHED if not counts[what]]
    if unreached:
        print(f"never reached: {', '.join(unreached)}")
    return 1 if failed or unreached else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", default="0:1000", help="FROM:TO, TO not included")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run seeds in")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.seed is None:
        raise SystemExit(run_campaign(range(*map(int, options.seeds.split(":"))), options.jobs))
    results = [run_world(options.seed, version) for version in VERSIONS]
    for result in results:
        print(f"transaction.version {result.version}: {result.broken or 'all guarantees held'}")
    raise SystemExit(any(result.broken for result in results))


if __name__ == "__main__":
    main()
