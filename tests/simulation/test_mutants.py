"""The checks can fail: each planted bug is caught, and each invariant catches something."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kraft.simulation
from kraft.simulation.campaign import run_seed
from kraft.simulation.invariants import LIVENESS, SAFETY
from tests.simulation import test_monitor
from tests.simulation.hunt import BOUND, hunt, recorded
from tests.simulation.mutants import MUTANTS

CAUGHT = recorded()


def test_every_one_of_them_was_caught_within_the_bound() -> None:
    assert len(CAUGHT) >= 20
    assert list(CAUGHT) == list(MUTANTS)
    assert all(catch.seed < BOUND for catch in CAUGHT.values())


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name: str) -> None:
    """By the seed that caught it when it was recorded; by the first that does if the cores behave differently now."""
    mutant = MUTANTS[name]
    with mutant.planted():
        verdict = run_seed(CAUGHT[name].seed)
    if verdict.invariant is None:
        assert hunt(mutant) is not None, f"{name} survived"


def test_every_invariant_can_fail() -> None:
    """Those that no planted bug runs into are shown to fail by hand."""
    by_bugs = {invariant for catch in CAUGHT.values() for invariant in (catch.invariant, *catch.sample)}
    assert by_bugs | set(test_monitor.BY_HAND) == {*SAFETY, *LIVENESS}


def test_every_invariant_that_is_raised_has_a_name() -> None:
    raised = set()
    for path in Path(kraft.simulation.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Violation":
                raised |= {each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)}
    assert raised <= {*SAFETY, *LIVENESS}
