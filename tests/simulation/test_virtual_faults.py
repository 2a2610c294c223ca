"""Whole controllers in virtual time, under faults drawn from seeds: nothing acknowledged is lost, leaders come back.

``KRAFT_VIRTUAL_SEEDS=FROM:TO`` runs those seeds; ``python -m tests.simulation.virtual_faults FROM:TO`` runs many.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.virtual_faults import Kind, draw_plan, run_seed
from tests.simulation.virtual_mutants import MUTANTS
from tests.support.covered import first_covered

ROOT = Path(__file__).parents[2]
FIRST, LAST = map(int, os.environ.get("KRAFT_VIRTUAL_SEEDS", "0:5").split(":"))
SCRIPT = "from tests.simulation.virtual_faults import run_seed; print(run_seed(1).history)"


@pytest.mark.parametrize("seed", first_covered(range(FIRST, LAST)))
def test_whole_controllers_keep_the_invariants(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.broken is None, f"{outcome.broken}\n{outcome}"
    assert outcome.seen["topic acknowledged"] > 0


@pytest.mark.no_cover
def test_a_seed_is_the_same_run_in_any_process() -> None:
    """Not only the leaders and their times: the bytes of the logs and the journals of all nodes."""
    here = [run_seed(seed).history for seed in (1, 1, 2)]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=100,
    )
    assert here[0] == here[1] == ran.stdout.strip() != here[2]
    assert here[0]


def test_plans_hold_every_fault() -> None:
    kinds = Counter(fault.kind for seed in range(50) for each in draw_plan(seed).rounds for fault in each.faults)
    assert set(kinds) == set(Kind)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_noticed(name: str) -> None:
    """The same seed holds without the bug: see the first test."""
    mutant = MUTANTS[name]
    assert FIRST <= mutant.seed < LAST or run_seed(mutant.seed).broken is None
    with mutant.planted():
        outcome = run_seed(mutant.seed)
    assert mutant.notice in (outcome.broken or ""), outcome
