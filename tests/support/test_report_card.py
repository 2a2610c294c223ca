"""The report card adds up over tests and over runs, and never hides a failure."""

from __future__ import annotations

from pathlib import Path

from tests.support.report_card import FAIL, PASS, ReportCard, render


def test_a_failure_stays_after_later_successes() -> None:
    card = ReportCard()
    for outcome in (PASS, FAIL, PASS):
        card.record("kcat", "produce", outcome)
    assert card.cells == {"kcat": {"produce": FAIL}}


def test_a_failure_has_precedence_over_a_missing_feature() -> None:
    card = ReportCard()
    for outcome in ("no such call", FAIL, "no such call"):
        card.record("kcat", "produce", outcome)
    assert card.cells == {"kcat": {"produce": FAIL}}


def test_a_later_run_replaces_its_cells_and_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "card.json"
    ReportCard({"kcat": "1", "Java": "4"}, {"kcat": {"a": FAIL, "b": PASS}, "Java": {"a": PASS}}).write(path)
    later = ReportCard({"kcat": "2"}, {"kcat": {"a": PASS}})
    later.merged_over(ReportCard.read(path)).write(path)
    assert ReportCard.read(path) == ReportCard(
        {"kcat": "2", "Java": "4"}, {"kcat": {"a": PASS, "b": PASS}, "Java": {"a": PASS}}
    )


def test_the_table_has_missing_features_and_empty_untested_cells() -> None:
    card = ReportCard({"kcat": "1.7"}, {"kcat": {"a": PASS, "b": FAIL, "c": "no such call"}})
    rows = render(card, {"a": "A", "b": "B", "c": "C", "d": "D"}).splitlines()
    assert rows[-8:] == [
        "|  | kcat 1.7 |",
        "| --- | --- |",
        "| A | yes |",
        "| B | **no** |",
        "| C | – [1] |",
        "| D |  |",
        "",
        "1. kcat: no such call",
    ]
