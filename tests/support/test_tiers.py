"""Each test has a tier, and a tier over its budget is marked."""

from __future__ import annotations

import pytest

from tests.support.tiers import (
    CODECS,
    CORES,
    DRIVERS,
    INTEROP,
    PROCESS,
    SIMULATION,
    SPARK,
    TIERS,
    TOOLS,
    Durations,
    Tier,
    tier_of,
)


@pytest.mark.parametrize(
    ("path", "tier"),
    [
        ("tests/wire/test_codec.py", CODECS),
        ("tests/raft/test_core.py", CORES),
        ("tests/quorum/test_log.py", DRIVERS),
        ("tests/simulation/test_seeds.py", SIMULATION),
        ("tests/process/test_kill.py", PROCESS),
        ("tests/spark/test_session.py", SPARK),
        ("tests/test_readme.py", TOOLS),
    ],
)
def test_the_tier_is_that_of_the_room(path: str, tier: Tier) -> None:
    assert tier_of(path, interop=False) is tier
    assert tier_of(path, interop=True) is INTEROP


def test_a_tier_over_its_budget_is_marked() -> None:
    durations = Durations()
    durations.add("tests/wire/test_codec.py::test_a", CODECS.budget_s, interop=False)
    assert next(iter(durations.lines())) == f"codecs: 1 tests, {CODECS.budget_s:.0f} s of {CODECS.budget_s:.0f} s"
    durations.add("tests/wire/test_codec.py::test_a", 1, interop=False)
    durations.add("tests/raft/test_core.py::test_b", 1, interop=False)
    first, slowest, *rest = durations.lines()
    assert first.endswith("OVER ITS BUDGET")
    assert slowest.endswith(f"{CODECS.budget_s + 1:.1f} s  tests/wire/test_codec.py::test_a")
    assert rest[0].startswith("cores")


def test_the_budgets_of_the_test_command_are_eight_minutes_on_two_cores() -> None:
    """CONTRIBUTING.md: the README's test command takes eight minutes on two cores."""
    assert sum(tier.budget_s for tier in TIERS if tier not in (INTEROP, SPARK)) == 2 * 8 * 60
