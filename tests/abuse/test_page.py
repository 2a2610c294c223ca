"""The verdict on an attack, and its place in a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.abuse.campaign import Outcome, Verdict, is_decided
from tests.abuse.client import Asked
from tests.abuse.page import beside_peers, by_api, grouped, in_cluster, replace_table
from tests.abuse.target import Step

FINE = Verdict(
    attack="Metadata 9, topics: long names",
    outcome=Outcome(seconds=0.25, frames=1, received_bytes=2_000_000, closed=0),
    quiet_ms=(2.0, 1.0),
    worst_ms=12.0,
    p99_ms=8.0,
    control_worst_ms=7.0,
    control_p99_ms=4.0,
    memory_mib=(50, 90, 60),
    epochs=frozenset({3}),
    fenced=0,
    alive=True,
    lost=False,
    step=Step("handler", "Metadata", 12, 0),
)


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"alive": False}, ["a node ended"]),
        ({"epochs": frozenset({3, 4})}, ["another epoch"]),
        ({"epochs": frozenset({-1})}, ["another epoch"]),
        ({"fenced": 1}, ["a fenced broker"]),
        ({"lost": True}, ["a lost client"]),
        ({"alive": False, "lost": True}, ["a node ended"]),
        ({"outcome": Outcome(120.0, 0, 0, 0, silent=1)}, ["no response"]),
        ({"step": Step("handler", "", 51, 40)}, ["step"]),
        ({"step": None}, []),
        ({"memory_mib": (50, 563, 60)}, ["memory"]),
        ({"p99_ms": 21.0}, ["neighbour"]),
        ({"p99_ms": 21.0, "quiet_ms": (11.0, 1.0)}, []),  # a busy machine
        ({"control_p99_ms": 11.0}, ["controller"]),
    ],
)
def test_a_verdict_names_what_is_over_its_budget(changes: dict[str, Any], faults: list[str]) -> None:
    assert attrs.evolve(FINE, **changes).faults() == faults


def test_slow_waits_are_judged_when_more_would_not_change_the_verdict() -> None:
    """With 500 waits, the p99 is the fifth longest: six of them that are over the budget decide."""
    assert not is_decided(Asked([0.001] * 100 + [0.021] * 5), 20)
    assert is_decided(Asked([0.001] * 100 + [0.021] * 6), 20)
    assert is_decided(Asked([0.001] * 499 + [0.021]), 20)


def test_the_tables_mark_what_is_over_its_budget() -> None:
    slow = attrs.evolve(FINE, step=Step("handler", "Metadata", 60, 30), epochs=frozenset({3, 4}))
    assert beside_peers({"kraft": [FINE], "apache": [FINE]})[2] == (
        "| Metadata 9, topics: long names | 2.0 MB in 0.25 s | 8.0, 12 ms | 50, 90, 60 "
        "| 2.0 MB in 0.25 s | 8.0, 12 ms | 50, 90, 60 |"
    )
    assert in_cluster([slow])[2] == (
        "| Metadata 9, topics: long names | 2.0 MB in 0.25 s | **60 ms by handler of Metadata (collector 30)** "
        "| 8.0, 12 ms | 4.0, 7 ms | **another epoch** |"
    )
    assert by_api(grouped([("Metadata", FINE), ("Metadata", slow)]))[2] == (
        "| Metadata | 2 | **60 ms by handler of Metadata (collector 30)** | 8 ms | 4 ms | 40 | **another epoch** |"
    )


def test_a_table_takes_the_place_of_the_last_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\n<!-- end of a -->\nbetween\n<!-- b -->\nold\n<!-- end of b -->\nafter\n")
    replace_table(page, "a", ["1", "2"])
    replace_table(page, "b", ["3"])
    assert page.read_text() == (
        "before\n<!-- a -->\n\n1\n2\n\n<!-- end of a -->\nbetween\n<!-- b -->\n\n3\n\n<!-- end of b -->\nafter\n"
    )
    with pytest.raises(ValueError, match="no place for the table 'c'"):
        replace_table(page, "c", [])
