"""``python -m tests.simulation.hunt [NAME …]`` runs seeds until one notices each planted bug, and records that seed.

``caught.json`` holds per bug the first seed that noticed it, the broken invariant, and the results of the first hundred
seeds.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import attrs

from kraft.simulation.campaign import SeedResult, run_seed
from kraft.simulation.invariants import LIVENESS, SAFETY
from tests.simulation.mutants import MUTANTS, Mutant

#: Among so many seeds at least one must notice each planted bug.
BOUND = 2_000
SAMPLE = 100
RECORD = Path(__file__).with_name("caught.json")


@attrs.frozen
class Catch:
    """The first ``seed`` that noticed, and the ``invariant`` that broke. ``sample`` counts per invariant how many of
    the first SAMPLE seeds noticed.
    """

    seed: int
    invariant: str
    sample: dict[str, int]


def recorded() -> dict[str, Catch]:
    return {name: Catch(**values) for name, values in json.loads(RECORD.read_text()).items()}


def hunt(mutant: Mutant, bound: int = BOUND) -> SeedResult | None:
    """Return the result of the first seed that notices, or None."""
    with mutant.planted():
        for seed in range(bound):
            result = run_seed(seed)
            if result.invariant is not None:
                return result
    return None


def main(names: list[str]) -> None:
    catches = recorded() if names else {}
    for name in names or MUTANTS:
        mutant = MUTANTS[name]
        result = hunt(mutant)
        if result is None:
            print(f"{name:34} survived", flush=True)
            catches.pop(name, None)
            continue
        assert result.invariant is not None
        with mutant.planted():
            sample = Counter(run_seed(seed).invariant for seed in range(SAMPLE))
        by_name = {str(invariant): sample[invariant] for invariant in (*SAFETY, *LIVENESS) if sample[invariant]}
        catches[name] = Catch(result.seed, result.invariant, by_name)
        print(f"{name:34}{result.seed:4}  {result.text[:90]}  {by_name}", flush=True)
    ordered = {name: attrs.asdict(catches[name]) for name in MUTANTS if name in catches}
    RECORD.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
