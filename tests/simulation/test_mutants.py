"""The checks can fail: each planted bug is caught, by the seed that caught it first if that is still so."""

from __future__ import annotations

import pytest

from kraft.simulation.campaign import run_seed
from tests.simulation.mutants import MUTANTS, SEEDS_NEEDED, hunt


def test_there_are_enough_of_them() -> None:
    assert len(SEEDS_NEEDED) >= 20


@pytest.mark.parametrize("name", SEEDS_NEEDED)
def test_a_planted_bug_is_caught(name: str) -> None:
    mutant = MUTANTS[name]
    with mutant.planted():
        verdict = run_seed(SEEDS_NEEDED[name] - 1)
    if verdict.invariant is None:
        found = hunt(mutant)
        assert found is not None, f"{name} survived"
        verdict = found
    assert verdict.invariant is not None
