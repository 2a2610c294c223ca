"""Faults for whole controllers in virtual time, drawn from a seed: ``python -m tests.simulation.virtual_faults 0:200``.

Each seed is a world of three or five real controllers and one observer, which stands for a broker. Two clients create
topics, through the observer or through a controller. In each *round* some faults strike and end. Then a leader must
exist and commit within a bounded virtual time. A round ``of_minority`` strikes so few controllers that the others must
do so during the round. At the end a minority stays down for a while, and then all nodes must hold the same records.

``--seed N`` runs one seed and prints the log of its nodes.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import traceback
from collections import Counter
from enum import Enum
from pathlib import Path

import attrs
import trio

from kraft.simulation import virtual_time
from kraft.simulation.random_stream import RandomStream


class Kind(Enum):
    """The effect of a fault on its target."""

    KILL = "kill"
    STOP = "controlled stop"
    PAUSE = "pause"
    BLACKOUT = "kill of all"
    ISOLATE = "isolate"
    DEAF = "deaf"
    MUTE = "mute"
    LINK = "one way of one link"
    SPLIT = "split"
    RESET = "broken connections"
    DELAY = "delay"
    SLOW_DISK = "slow disk"
    RESIGN = "resign"


#: Faults that strike a single node.
OF_ONE = (Kind.KILL, Kind.STOP, Kind.PAUSE, Kind.ISOLATE, Kind.DEAF, Kind.MUTE, Kind.RESET, Kind.SLOW_DISK, Kind.RESIGN)
TOLD_OF_EACH = ("leader elected", "log cut", "snapshot installed", "request timed out", "topic acknowledged")
SPANS_S = (0.3, 2.0, 8.0)


@attrs.frozen
class Fault:
    """``at_s`` counts from the start of the round. ``target`` is 0 for the leader, otherwise it numbers the other
    nodes.
    """

    at_s: float
    lasts_s: float
    kind: Kind
    target: int
    other: int
    """LINK: the other end. SPLIT: the side of each node, as bits. Cuts: whether they cut off the observer, too."""

    def __str__(self) -> str:
        return f"{self.at_s:6.2f} s  {self.kind.value} of {self.target} ({self.other}), {self.lasts_s:.2f} s"


@attrs.frozen
class Round:
    """Faults that strike together. With ``of_minority`` their targets are chosen once and leave a majority."""

    of_minority: bool
    faults: tuple[Fault, ...]


@attrs.frozen
class Plan:
    """All random choices about a world, except delays, the order of tasks and the choices of the nodes."""

    seed: int
    voters: int
    delay_s: tuple[float, float]
    disk_s: float
    snapshot_bytes: int
    segment_bytes: int
    rounds: tuple[Round, ...]
    dead_at_end: int

    @property
    def minority(self) -> int:
        return (self.voters - 1) // 2

    def __str__(self) -> str:
        knobs = (
            f"{self.voters} voters, delay {self.delay_s} s, disk {self.disk_s} s, {self.dead_at_end} dead at the end"
        )
        files = f"a snapshot each {self.snapshot_bytes} bytes, segments of {self.segment_bytes} bytes"
        lines = [f"seed {self.seed}: {knobs}, {files}"]
        for number, each in enumerate(self.rounds):
            lines.append(f"round {number}{' of a minority' if each.of_minority else ''}")
            lines += map(str, each.faults)
        return "\n".join(lines)


def draw_plan(seed: int) -> Plan:
    rng = RandomStream(seed, "virtual plan")
    voters = rng.pick((3, 3, 5))
    slowest_s = rng.pick((0.002, 0.002, 0.05))
    return Plan(
        seed,
        voters,
        (slowest_s / 10, slowest_s),
        rng.pick((0.0005, 0.001, 0.02)),
        rng.pick((1_500, 5_000, 2**20)),
        rng.pick((1_000, 2**20)),
        tuple(_draw_round(rng, voters) for _ in range(4)),
        rng.below((voters - 1) // 2 + 1),
    )


def _draw_round(rng: RandomStream, voters: int) -> Round:
    of_minority = rng.happens(0.4)
    kinds = OF_ONE if of_minority else tuple(Kind)
    longest_s = rng.pick(SPANS_S)
    faults = []
    for _ in range(1 + rng.below(5)):
        at_s = rng.between(0, 1 if of_minority else longest_s)
        targets = (voters - 1) // 2 if of_minority else voters
        target = 0 if rng.happens(0.4) else rng.below(targets)
        lasts_s = rng.between(0, longest_s)
        faults.append(Fault(at_s, lasts_s, rng.pick(kinds), target, rng.below(2**voters)))
    return Round(of_minority, tuple(sorted(faults, key=lambda fault: fault.at_s)))


@attrs.frozen
class Outcome:
    """The result of a seed. ``history`` is a digest of all events, ``seen`` counts them by kind."""

    plan: Plan
    history: str = ""
    seen: Counter[str] = attrs.Factory(Counter)
    virtual_s: float = 0.0
    broken: str | None = None
    """The broken invariant, in one line."""
    details: str = ""

    def __str__(self) -> str:
        return f"{self.plan}\n{self.details}"


def run_seed(seed: int) -> Outcome:
    """Run a seed. The outcome holds any violation: nothing is raised."""
    from tests.simulation.virtual_world import run_world  # only a world needs the whole of a node

    plan = draw_plan(seed)
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kraft-virtual-") as directory:
        try:
            history, virtual_s = virtual_time.run(run_world, plan, Path(directory), seen, seed=seed)
        except Exception as error:
            return Outcome(
                plan, seen=seen, broken=_first_line(error), details="".join(traceback.format_exception(error))
            )
    return Outcome(plan, history, seen, virtual_s)


def _first_line(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _with_node_and_time(record: logging.LogRecord) -> bool:
    """Add the node and the virtual time to a log record."""
    task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
    while task is not None and not task.name.startswith("node-"):
        task = task.parent_nursery.parent_task if task.parent_nursery is not None else None
    record.node = "" if task is None else task.name
    record.now = trio.current_time()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", default="0:100", help="FROM:TO, TO not included")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seeds = range(*map(int, options.seeds.split(":")))
    if options.seed is not None:
        handler = logging.StreamHandler()
        handler.addFilter(_with_node_and_time)
        logging.basicConfig(level=logging.INFO, format="%(now)10.4f %(node)-8s %(message)s", handlers=[handler])
        seeds = range(options.seed, options.seed + 1)
    seen: Counter[str] = Counter()
    failed, virtual_s, began_s = 0, 0.0, time.process_time()
    for seed in seeds:
        outcome = run_seed(seed)
        seen.update(outcome.seen)
        virtual_s += outcome.virtual_s
        failed += outcome.broken is not None
        told = ", ".join(f"{outcome.seen[what]} {what}" for what in TOLD_OF_EACH)
        print(f"seed {seed}: {outcome.history[:12]} {outcome.virtual_s:.3f} s, {told}", flush=True)
        if outcome.broken is not None:
            print(f"{outcome.broken}\n{outcome}", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:8} {what}")
    cpu_s = time.process_time() - began_s
    print(f"{len(seeds)} seeds, {failed} failed; {virtual_s:.0f} s of virtual time in {cpu_s:.0f} s of CPU time")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
