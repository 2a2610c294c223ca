"""Some hundred worlds: every invariant holds in each, the campaign reaches what it must, and a seed is a seed."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import pytest

from kraft.simulation.campaign import RARE_STATES, Verdict, run_seed, shrink
from kraft.simulation.plan import draw_knobs, draw_plan, plan_from_json, plan_to_json
from tests.simulation.mutants import MUTANTS

SEEDS = 300
_SLICES = 6


@functools.cache
def worlds(part: int) -> tuple[Verdict, ...]:
    """One slice of the campaign, run once in a process whichever test asks first."""
    return tuple(run_seed(seed) for seed in range(part, SEEDS, _SLICES))


@pytest.mark.parametrize("part", range(_SLICES))
def test_every_invariant_holds_in_every_world(part: int) -> None:
    broken = [f"seed {verdict.seed}: {verdict.text}" for verdict in worlds(part) if verdict.invariant is not None]
    assert not broken, "\n".join(broken)


@pytest.mark.timeout(600)
def test_the_campaign_reaches_every_rare_state() -> None:
    """A campaign that never got there would prove nothing about it."""
    missing = set(RARE_STATES)
    for part in range(_SLICES):
        for verdict in worlds(part):
            missing -= {name for name, count in verdict.coverage.items() if count}
        if not missing:
            break
    assert not missing


@pytest.mark.parametrize("seed", [3, 17])
def test_the_same_seed_is_the_same_run_whatever_the_hash_seed(seed: int) -> None:
    script = f"from kraft.simulation.campaign import run_seed; print(run_seed({seed}).trace_hash)"
    hashes = {run_seed(seed).trace_hash}
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True
        )
        hashes.add(ran.stdout.strip())
    assert len(hashes) == 1


def test_a_trace_changes_nothing() -> None:
    lines: list[str] = []
    assert run_seed(5, trace=lines.append) == run_seed(5)
    assert any("Leader" in line for line in lines)


def test_other_seeds_are_other_runs() -> None:
    assert len({run_seed(seed).trace_hash for seed in range(4)}) == 4


def test_a_plan_survives_being_written_down() -> None:
    plan = draw_plan(11, draw_knobs(11))
    assert plan_from_json(plan_to_json(plan)) == plan
    assert len(plan) > 3


def test_a_failing_plan_is_made_smaller_and_still_fails() -> None:
    mutant = MUTANTS["votes for a shorter log"]
    with mutant.planted():
        seed = next(seed for seed in range(50) if run_seed(seed).invariant == "LeaderCompleteness")
        plan = draw_plan(seed, draw_knobs(seed))
        small = shrink(plan, lambda less: run_seed(seed, less).invariant == "LeaderCompleteness")
        assert run_seed(seed, small).invariant == "LeaderCompleteness"
    assert len(small) < len(plan)
    assert run_seed(seed, small).invariant is None
