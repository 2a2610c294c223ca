"""``python -m tests.coordinator.campaign 0:400``: the worlds of the coordinators, for many seeds.

A seed that breaks a guarantee is printed with the invariant and the end of its trace. ``--seed N`` runs one seed, and
prints its whole trace.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs

from tests.coordinator.groups.share.world import ShareGroupWorld
from tests.coordinator.groups.world import GroupWorld
from tests.coordinator.share.world import SharedWorld
from tests.coordinator.transactions.world import TransactionalWorld
from tests.coordinator.world import CoordinatedWorld, InvariantBroken

WORLDS: dict[str, Callable[[int], CoordinatedWorld[Any]]] = {
    "transactions": partial(TransactionalWorld, transaction_version=0),
    "transactions-2": partial(TransactionalWorld, transaction_version=2),
    "groups": GroupWorld,
    "share-groups": ShareGroupWorld,
    "shares": SharedWorld,
}
"""The transactions run with the first protocol, and with epochs that rise at each end (``transaction.version`` 2)."""
_SHOWN = 30
"""The events that a campaign prints of a failed seed: the last ones."""


def class_of(world: str) -> type[CoordinatedWorld[Any]]:
    """Return the class of a world, which names its invariants and the events that runs must reach."""
    new_world: Any = WORLDS[world]
    cls: type[CoordinatedWorld[Any]] = getattr(new_world, "func", new_world)
    return cls


@attrs.frozen
class WorldResult:
    """The result of one seed. ``invariant`` is None if all guarantees held. An error of a core has its own name."""

    world: str
    seed: int
    counts: Counter[str]
    invariant: str | None
    detail: str
    trace: list[str]


def run_world(name: str, seed: int, *, keeps_trace: bool = False) -> WorldResult:
    """Run a seed. Nothing is raised."""
    world = WORLDS[name](seed)
    invariant, detail = None, ""
    try:
        world.run()
    except InvariantBroken as broken:
        invariant, detail = broken.invariant, str(broken)
    except Exception as error:
        invariant, detail = type(error).__name__, traceback.format_exc()
    trace = [] if invariant is None and not keeps_trace else [" ".join(map(str, event)) for event in world.trace]
    return WorldResult(name, seed, world.counts, invariant, detail, trace)


def _run(job: tuple[str, int]) -> WorldResult:
    return run_world(*job)


def described(failed: WorldResult) -> str:
    """Return what a campaign prints of a seed that failed."""
    first = f"{failed.world}, seed {failed.seed} breaks {failed.invariant}"
    return "\n".join([first, *failed.trace[-_SHOWN:], failed.detail])


def run_campaign(names: Sequence[str], seeds: range, jobs: int) -> int:
    """Run the seeds of each world in ``jobs`` processes, print the results, and return the exit status."""
    began_s, counts, failed = time.monotonic(), {name: Counter[str]() for name in names}, 0
    worlds = [(name, seed) for seed in seeds for name in names]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for result in pool.imap(_run, worlds, chunksize=16):
            counts[result.world].update(result.counts)
            if result.invariant is not None:
                failed += 1
                print(described(result))
    unreached = []
    for name in names:
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts[name].items())))
        unreached += [f"{name}: {what}" for what in class_of(name).REACHED if not counts[name][what]]
    print(f"{len(worlds)} worlds, {failed} failed, in {time.monotonic() - began_s:.0f} s")
    if unreached:
        print(f"never reached: {', '.join(unreached)}")
    return 1 if failed or unreached else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", default="0:400", help="FROM:TO, TO not included")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run seeds in")
    parser.add_argument("--world", choices=WORLDS, action="append", help="one world, or several; all by default")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    names = options.world or list(WORLDS)
    if options.seed is None:
        first, end = map(int, options.seeds.split(":"))
        raise SystemExit(run_campaign(names, range(first, end), options.jobs))
    results = [run_world(name, options.seed, keeps_trace=True) for name in names]
    for result in results:
        print(f"{result.world}, seed {result.seed}", *result.trace, sep="\n")
        print(result.detail or "all guarantees held")
    raise SystemExit(any(result.invariant for result in results))


if __name__ == "__main__":
    main()
