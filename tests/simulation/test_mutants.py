"""The checks can fail: some seed catches each planted bug, as recorded, and each invariant catches a bug.

``caught.json`` records the results of the first hundred seeds and of those before the first catch. To repeat all of
them here would take as long as the hunt.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kraft.simulation
from kraft.simulation.campaign import run_seed
from kraft.simulation.invariants import LIVENESS, SAFETY
from tests.simulation import test_monitor
from tests.simulation.hunt import BOUND, SAMPLE, recorded
from tests.simulation.mutants import MUTANTS

CAUGHT = recorded()
#: The number of seeds before the first catch that run here, too.
LOOK_BACK = 3
RECORD_ANEW = "`python -m tests.simulation.hunt`, then `python -m tests.simulation.page`, record anew what notices"


def test_every_one_of_them_was_caught_within_the_bound() -> None:
    assert len(CAUGHT) >= 20
    assert list(CAUGHT) == list(MUTANTS)
    assert all(catch.seed < BOUND for catch in CAUGHT.values())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name: str) -> None:
    """The recorded seed breaks the recorded invariant. The seeds just before it break none."""
    catch = CAUGHT[name]
    with MUTANTS[name].planted():
        made = {seed: run_seed(seed).invariant for seed in range(max(catch.seed - LOOK_BACK, 0), catch.seed + 1)}
    expected = {seed: catch.invariant if seed == catch.seed else None for seed in made}
    assert made == expected, f"the cores or the world behave differently: {RECORD_ANEW}"
    sampled = catch.sample.get(catch.invariant, 0) > 0
    assert sampled is (catch.seed < SAMPLE), f"the sample and the seed are of different hunts: {RECORD_ANEW}"
    assert sum(catch.sample.values()) <= max(SAMPLE - catch.seed, 0), f"the sample has too many: {RECORD_ANEW}"


def test_every_invariant_can_fail() -> None:
    """``test_monitor`` breaks those invariants that no planted bug breaks."""
    by_bugs = {invariant for catch in CAUGHT.values() for invariant in (catch.invariant, *catch.sample)}
    assert by_bugs | set(test_monitor.BY_HAND) == {*SAFETY, *LIVENESS}


def test_every_invariant_that_is_raised_has_a_name() -> None:
    raised = set()
    for path in Path(kraft.simulation.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Violation":
                raised |= {each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)}
    assert raised <= {*SAFETY, *LIVENESS}
