"""Running seeds: one, or very many, and making a failing plan small."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from kraft.raft.state import TRANSITIONS
from kraft.simulation.monitor import Violation
from kraft.simulation.plan import Fault, FaultKind, Knobs, draw_knobs, draw_plan
from kraft.simulation.world import World

#: What a campaign is for: states that only faults bring about. One that never reached some of them proves little.
RARE_STATES = (
    *(f"{before.__name__} -> {after.__name__}" for before, after in TRANSITIONS),
    *(f"fault: {kind.value}" for kind in FaultKind),
    "diverging log cut",
    "failed fsync",
    "log trimmed",
    "refused: LEADER_ALIVE",
    "refused: SHORTER_LOG",
    "refused: STALE_EPOCH",
    "refused: UNKNOWN_EPOCH",
    "refused: VOTED_FOR_ANOTHER",
    "snapshot installed",
    "snapshot rejected",
    "torn write",
)


@attrs.frozen
class Verdict:
    """What came of one seed. ``invariant`` is None if all held."""

    seed: int
    invariant: str | None
    text: str
    simulated_s: float
    events: int
    committed: int
    trace_hash: str
    coverage: dict[str, int]


def run_seed(
    seed: int,
    plan: Sequence[Fault] | None = None,
    knobs: Knobs | None = None,
    trace: Callable[[str], None] | None = None,
) -> Verdict:
    """Run the world of a seed, with its own knobs and faults unless others are given."""
    knobs = draw_knobs(seed) if knobs is None else knobs
    plan = draw_plan(seed, knobs) if plan is None else plan
    world = World(seed, knobs, plan, trace)
    invariant, text = None, ""
    try:
        world.run()
    except Violation as violation:
        invariant, text = violation.invariant, str(violation)
    except Exception as error:  # whatever a core raises
        invariant, text = "NoIllegalState", f"NoIllegalState: {type(error).__name__}: {error}"
    return Verdict(
        seed, invariant, text, world.now, world.events, len(world.monitor.committed), world.trace_hash, world.coverage
    )


def shrink(plan: Sequence[Fault], fails: Callable[[Sequence[Fault]], bool]) -> tuple[Fault, ...]:
    """Leave out of a failing plan whatever it fails without (delta debugging)."""
    kept = list(plan)
    size = max(len(kept) // 2, 1)
    while kept:
        start, smaller = 0, False
        while start < len(kept):
            without = kept[:start] + kept[start + size :]
            if fails(without):
                kept, smaller = without, True
            else:
                start += size
        if size == 1 and not smaller:
            break
        size = max(size // 2, 1)
    return tuple(kept)
