"""The control plane survives the data plane: whole nodes, whose requests take virtual time, under load.

``KRAFT_OVERLOAD_SEEDS=FROM:TO`` runs those seeds; ``python -m tests.simulation.virtual_overload FROM:TO`` runs many.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.virtual_overload import Load, Target, draw_plan, run_seed
from tests.simulation.virtual_overload_mutants import MUTANTS, SEED
from tests.support.covered import first_covered

ROOT = Path(__file__).parents[2]
SCRIPT = "from tests.simulation.virtual_overload_mutants import SEED, run_seed; print(run_seed(SEED).history)"

FIRST, LAST = map(int, os.environ.get("KRAFT_OVERLOAD_SEEDS", "37:40").split(":"))


@pytest.mark.parametrize("seed", first_covered(range(FIRST, LAST)))
def test_no_load_deposes_a_leader_or_fences_a_broker(seed: int) -> None:
    """KIP-291: "we propose to separate controller requests from data plane requests". Combined nodes need the same of
    their event loop.
    """
    outcome = run_seed(seed)
    assert outcome.broken is None, outcome
    assert outcome.seen.requests["data"] > 0


@pytest.mark.no_cover
def test_a_seed_is_the_same_run_in_any_process() -> None:
    """All requests of all nodes with their durations, and the records of the controllers."""
    here = run_seed(SEED).history
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
    assert here == ran.stdout.strip() != ""


def test_plans_hold_every_load() -> None:
    plans = [draw_plan(seed) for seed in range(50)]
    assert all(any(plan.connections[load] for plan in plans) for load in Load)
    assert {plan.target for plan in plans} == set(Target)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_noticed(name: str) -> None:
    """The same seed holds without the bug: see the first test."""
    assert FIRST <= SEED < LAST or run_seed(SEED).broken is None
    outcome = MUTANTS[name].run()
    assert re.match("Violated: (NoFencedBroker|StableLeadership|AnswersInTime): ", outcome.broken or ""), outcome


def test_the_page_has_every_planted_bug() -> None:
    page = (ROOT / "docs" / "overload.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == 3][-len(MUTANTS) :] == [
        f"| {name} | {mutant.rule} |" for name, mutant in MUTANTS.items()
    ]
