"""The page: first the goals, then each section with its method, its tables, and their meaning.

``prose.md`` has the text, one part per section. A line in each part marks the place of its tables. ``python -m
tests.bench.page`` renders the kept samples after a change of the text.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.figures import Report, as_markdown

PROSE = Path(__file__).with_name("prose.md")
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
VERDICTS = {True: "met", False: "**not met**", None: "not measured"}
TABLES = "<!-- tables -->"


def prose(text: str) -> dict[str, str]:
    """Return the parts of ``prose.md`` by section; a part begins with ``# name``."""
    parts: dict[str, str] = {}
    for part in ("\n" + text).split("\n# ")[1:]:
        name, _, body = part.partition("\n")
        parts[name.strip()] = body.strip()
    return parts


def render(report: Report) -> str:
    parts = prose(PROSE.read_text())
    lines = ["# Benchmarks", "", parts["head"], "", "## Goals", "", *_goals(report), ""]
    for name, body in parts.items():
        section = report.sections.get(name)
        if section is None:
            continue
        tables = [line for table in section.tables for line in [*as_markdown(table), ""]]
        notes = [line for note in section.notes for line in (note, "")]
        found = "\n".join([*tables, *notes, f"_Measured on {report.machines[name]}._"])
        lines += [body.replace(TABLES, found), ""]
    return "\n".join(lines).rstrip() + "\n"


def _goals(report: Report) -> list[str]:
    rows = [
        f"| {goal.claim} | {goal.measured} | {VERDICTS[goal.met]} | {_day(report.machines[name])} |"
        for name, section in report.sections.items()
        for goal in section.goals
    ]
    return ["| goal | measured | | day |", "| --- | --- | --- | --- |", *rows]


def _day(machine: str) -> str:
    """Return the day of a run in the words of ``machine.describe``."""
    return "".join(re.findall(r"\b\d{4}-\d\d-\d\d\b", machine))


def rendered(kept: Path) -> str:
    """Return the page of the samples in a file."""
    return render(Report.read(kept))


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.with_suffix(".json")))
