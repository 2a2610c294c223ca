"""Run one seed or a campaign of many, and shrink a failing plan."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from kraft.raft.state import TRANSITIONS
from kraft.simulation.faults import schedule
from kraft.simulation.invariants import Violation
from kraft.simulation.plan import Fault, FaultKind, Knobs, Profile, draw_knobs, draw_plan
from kraft.simulation.world import SimulatedWorld

#: States that a campaign must reach. One that never reached a state did not test it.
RARE_STATES = (
    *(f"{before.__name__} -> {after.__name__}" for before, after in TRANSITIONS),
    *(f"fault: {kind.value}" for kind in FaultKind),
    *(f"profile: {profile.value}" for profile in Profile),
    "diverging log cut",
    "failed fsync",
    "granted: GRANTED_AGAIN",
    "killed in fsync",
    "log trimmed",
    "refused: LEADER_ALIVE",
    "refused: SHORTER_LOG",
    "refused: STALE_EPOCH",
    "refused: UNKNOWN_EPOCH",
    "refused: VOTED_FOR_ANOTHER",
    "snapshot installed",
    "snapshot kept for a later leader",
    "snapshot looked through past the fetch timeout",
    "snapshot rejected",
    "those ahead die",
    "torn write",
)

_HASH_BITS = 128


@attrs.frozen
class SeedResult:
    """The result of one seed. ``invariant`` is None if all held. ``coverage`` counts how often the seed reached each
    state.
    """

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
) -> SeedResult:
    """Run the world of a seed with the knobs and the plan drawn from it, unless others are given."""
    knobs = draw_knobs(seed) if knobs is None else knobs
    plan = draw_plan(seed, knobs) if plan is None else plan
    world = SimulatedWorld(seed, knobs, trace)
    schedule(world, plan)
    timeline = world.timeline
    timeline.cover(f"profile: {knobs.profile.value}")
    invariant, text = None, ""
    try:
        world.run()
    except Violation as violation:
        invariant, text = violation.invariant, str(violation)
    except Exception as error:  # any error of a core
        invariant, text = "NoIllegalState", f"NoIllegalState: {type(error).__name__}: {error}"
    committed = len(world.history.committed)
    return SeedResult(
        seed, invariant, text, timeline.now, timeline.events, committed, timeline.trace_hash, timeline.coverage
    )


@attrs.define
class Tally:
    """The sums of a campaign. ``reached`` counts the seeds that reached a state, ``times`` how often they did.

    ``trace`` is the sum of the seeds' trace hashes. Two machines that ran the same seeds compare this number.
    """

    seeds: int = 0
    simulated_s: float = 0.0
    events: int = 0
    committed: int = 0
    trace: int = 0
    failures: list[SeedResult] = attrs.field(factory=list)
    reached: Counter[str] = attrs.field(factory=Counter)
    times: Counter[str] = attrs.field(factory=Counter)

    def add(self, result: SeedResult) -> None:
        self.seeds += 1
        self.simulated_s += result.simulated_s
        self.events += result.events
        self.committed += result.committed
        self.trace = (self.trace + int(result.trace_hash, 16)) % 2**_HASH_BITS
        self.reached.update(result.coverage.keys())
        self.times.update(result.coverage)
        if result.invariant is not None:
            self.failures.append(result)

    @property
    def trace_hash(self) -> str:
        """``trace`` in hexadecimal digits, as a campaign prints it."""
        return f"{self.trace:032x}"

    def never_reached(self) -> list[str]:
        return [name for name in RARE_STATES if not self.reached[name]]

    def rows(self) -> list[tuple[str, int, int]]:
        """Return (state, seeds that reached it, times in all), the rarest state first."""
        names = sorted(self.reached, key=lambda name: (self.reached[name], name))
        return [(name, self.reached[name], self.times[name]) for name in names]

    def figures(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return {
            "python": platform.python_version(),
            "seeds": self.seeds,
            "failed": [[failure.seed, failure.text] for failure in self.failures],
            "simulated_s": round(self.simulated_s),
            "events": self.events,
            "committed": self.committed,
            "trace": self.trace_hash,
            "coverage": {name: [seeds, times] for name, seeds, times in self.rows()},
        }


def shrink(plan: Sequence[Fault], fails: Callable[[Sequence[Fault]], bool]) -> tuple[Fault, ...]:
    """Remove every fault that a failing plan does not need in order to fail (delta debugging)."""
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
