"""The page of mixed quorums: a new table replaces the old one, and the handwritten part below stays."""

from __future__ import annotations

from pathlib import Path

from tests.interop.mixed import MARKER, Change, Outcome, render

PAGE = Path(__file__).parents[2] / "docs" / "mixed-quorums.md"
CHANGES = [Change(True, "ours", "Apache 4.3.1", 2, 1.5, 2.0), Change(False, "Apache 4.3.1", "ours", 1, 0.5, 0.75)]
MACHINE = "8 cores"
OUTCOMES = {"a mix": Outcome(CHANGES, 31, (0, 77))}


def test_the_table_is_new_and_the_handwritten_part_stays() -> None:
    before = PAGE.read_text()
    page = render(OUTCOMES, 2, MACHINE, before)
    assert page.split(MARKER)[1] == before.split(MARKER)[1]
    rows = [line for line in page.split(MARKER)[0].splitlines() if line.startswith("| ")]
    assert rows[2:] == [
        "| a mix | ours 1 | Apache 4.3.1 1 | Apache 4.3.1 1, ours 1 | 1 | 1.50 (1.50) | 0.50 (0.50) | 31 | 0 to 77 |"
    ]


def test_writing_again_changes_nothing() -> None:
    once = render(OUTCOMES, 2, MACHINE, PAGE.read_text())
    assert render(OUTCOMES, 2, MACHINE, once) == once


def test_a_page_that_is_not_there_yet_ends_with_the_marker() -> None:
    assert render(OUTCOMES, 2, MACHINE).endswith(f"\n\n{MARKER}\n")
