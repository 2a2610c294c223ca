"""Each test has a tier, and a tier over its budget is marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.tiers import (
    CODECS,
    COMMAND,
    COMMAND_S,
    CORES,
    DRIVERS,
    HARNESS,
    INTEROP,
    LEGACY,
    PROCESS,
    ROOMS,
    SIMULATION,
    SPARK,
    TOOLS,
    UNKNOWN,
    ZOOKEEPER,
    Durations,
    Tier,
    tier_of,
)

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("path", "tier"),
    [
        ("tests/wire/test_codec.py", CODECS),
        ("tests/raft/test_core.py", CORES),
        ("tests/quorum/test_log.py", DRIVERS),
        ("tests/simulation/test_seeds.py", SIMULATION),
        ("tests/process/test_kill.py", PROCESS),
        ("tests/zookeeper/controller/test_core.py", LEGACY),
        ("tests/support/test_tiers.py", HARNESS),
        ("tests/test_readme.py", TOOLS),
    ],
)
def test_the_tier_is_that_of_the_room_or_of_the_mark(path: str, tier: Tier) -> None:
    assert tier_of(path) is tier
    assert tier_of(path, ["interop"]) is INTEROP
    assert tier_of(path, ["interop", "zookeeper"]) is ZOOKEEPER


def test_each_directory_with_tests_has_a_tier() -> None:
    directories = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    assert directories - set(ROOMS) == set()
    assert tier_of("tests/unheard_of/test_a.py") is UNKNOWN
    assert tier_of("tests/spark/test_session.py") is SPARK


def test_a_tier_over_its_budget_is_marked() -> None:
    durations = Durations()
    durations.add("tests/wire/test_codec.py::test_a", CODECS.budget_s)
    assert next(iter(durations.lines(1))) == f"codecs: 1 tests, {CODECS.budget_s:.0f} s of {CODECS.budget_s:.0f} s"
    durations.add("tests/wire/test_codec.py::test_a", 1)
    durations.add("tests/raft/test_core.py::test_b", 1)
    first, slowest, *rest = durations.lines(1)
    assert first.endswith("OVER ITS BUDGET")
    assert slowest.endswith(f"{CODECS.budget_s + 1:.1f} s  tests/wire/test_codec.py::test_a")
    assert rest[0].startswith("cores")


def test_the_last_line_is_about_the_whole_run_of_the_test_command() -> None:
    durations = Durations()
    durations.add("tests/wire/test_codec.py::test_a", 20)
    assert [*durations.lines(30)][-1] == "whole run: 1 tests, 20 s of 1240 s, elapsed 30 s of 480 s"
    assert [*durations.lines(COMMAND_S + 1)][-1].endswith("elapsed 481 s of 480 s  OVER ITS BUDGET")
    durations.add("tests/spark/test_session.py::test_b", 20)
    assert "whole run" not in "".join(durations.lines(30))


def test_the_budgets_of_the_test_command_are_eight_minutes_on_two_cores() -> None:
    """CONTRIBUTING.md: the README's test command takes eight minutes on two cores."""
    assert sum(tier.budget_s for tier in COMMAND) <= 3 * COMMAND_S == 3 * 8 * 60


def test_the_guide_has_every_directory_in_the_row_of_its_tier() -> None:
    lines = (TESTS.parent / "CONTRIBUTING.md").read_text().splitlines()
    rows = {cells[1].strip(): cells[2] for line in lines if len(cells := line.split("|")) == 6}
    for room, tier in ROOMS.items():
        assert re.search(rf"\b{room}\b", rows[tier.name]), (room, tier.name)
