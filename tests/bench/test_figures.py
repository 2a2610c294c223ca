"""The texts of the page: medians, ratios, verdicts, and the sections that a run replaces."""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.__main__ import SECTIONS
from tests.bench.figures import Goal, Report, Section, Table, as_markdown, limit_goal, merged, ratio_goal
from tests.bench.page import GOALS, PAGE, PLACE, PROSE, chapters, render


def _table() -> Table:
    table = Table("A table", ["ours", "theirs"], base="theirs")
    row = table.row("speed", "MB/s")
    for ours, theirs in ((1.0, 4.0), (3.0, 2.0), (2.0, 8.0)):
        row.add("ours", ours)
        row.add("theirs", theirs)
    return table


def test_a_cell_is_median_and_range_and_the_last_column_the_ratio_of_medians() -> None:
    assert as_markdown(_table())[0] == "**A table**, 3 rounds"
    assert as_markdown(_table())[-1] == "| speed, MB/s | 2.00 (1.00–3.00) | 4.00 (2.00–8.00) | 0.50 |"


def test_a_subject_that_was_not_measured_has_no_column() -> None:
    table = Table("A table", ["ours", "theirs"], base="theirs")
    table.row("speed").add("ours", 1234.0)
    assert as_markdown(table)[2:] == ["|  | ours |", "| --- | ---: |", "| speed | 1,234 |"]


def test_goals_have_the_measured_values() -> None:
    row = _table().rows[0]
    assert ratio_goal("half", row, "ours", "theirs", lambda ratio: ratio >= 0.5).met
    assert not limit_goal("at most 1", row, "ours", 1).met
    assert ratio_goal("a peer that was not there", row, "ours", "nobody", lambda _: True).met is None


def test_a_run_replaces_its_own_sections_only(tmp_path: Path) -> None:
    old = Report({"codec": Section("codec"), "small": Section("small")}, {"codec": "then", "small": "then"})
    merged(old, {"small": Section("small", [_table()])}, "now").write(tmp_path / "report.json")
    report = Report.read(tmp_path / "report.json")
    assert report.machines == {"codec": "then", "small": "now"}
    assert report.sections["small"].tables == [_table()]


def test_each_section_has_one_place_in_the_chapters() -> None:
    places = [name for text in chapters().values() for name in PLACE.findall(text)]
    assert sorted(places) == sorted(SECTIONS)
    assert sorted(GOALS.findall((PROSE / PAGE.name).read_text())) == sorted(chapters())
    report = Report({name: Section(name, [_table()]) for name in places}, dict.fromkeys(places, "a machine"))
    assert "".join(render(report).values()).count("**A table**") == len(places)


def test_each_goal_has_the_day_of_its_run() -> None:
    goal = Goal("fast", "1.0×", True)
    sections = {name: Section(name, goals=[goal]) for name in ("codec", "small")}
    days = {"codec": "2 cores; 2026-11-21", "small": "2 cores; 2026-11-23; 0.6 other tasks"}
    page = render(Report(sections, days))[PAGE.name]
    assert sorted(re.findall(r"^\| fast .*", page, re.MULTILINE)) == [
        "| fast | 1.0× | met | 2026-11-21 |",
        "| fast | 1.0× | met | 2026-11-23 |",
    ]


def test_the_pages_have_the_present_texts() -> None:
    """After a change of ``prose``: ``python -m tests.bench.page``."""
    pages = render(Report.read(PAGE.with_suffix(".json")))
    assert {name: (PAGE.parent / name).read_text() for name in pages} == pages
    assert {f"benchmarks/{path.name}" for path in PAGE.parent.glob("benchmarks/*")} == {*pages} - {PAGE.name}
