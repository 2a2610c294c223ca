"""docs/benchmarks.md and its chapters: the goals, then each section with its method, its tables, and their meaning.

The files in ``prose`` have the text. A line ``<!-- tables: SECTION -->`` stands for the tables of a section, and
``<!-- goals: CHAPTER -->`` for the goals of a chapter's sections. ``python -m tests.bench.page`` renders the kept
samples after a change of the text.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.figures import Report, as_markdown

PROSE = Path(__file__).with_name("prose")
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
VERDICTS = {True: "met", False: "**not met**", None: "not measured"}
PLACE = re.compile(r"<!-- tables: ([\w-]+) -->")
GOALS = re.compile(r"<!-- goals: (\w+) -->")


def chapters() -> dict[str, str]:
    """Return the text of each chapter by its name."""
    return {path.stem: path.read_text() for path in PROSE.glob("benchmarks/*.md")}


def render(report: Report) -> dict[str, str]:
    """Return the page and its chapters by their paths below ``docs``."""
    texts = chapters()
    index = (PROSE / PAGE.name).read_text()
    return {PAGE.name: GOALS.sub(lambda place: _goals(report, texts[place[1]]), index)} | {
        f"benchmarks/{name}.md": PLACE.sub(lambda place: tables(report, place[1]), text) for name, text in texts.items()
    }


def tables(report: Report, name: str) -> str:
    """Return the tables of a section, its notes, and the machine of its run."""
    section = report.sections.get(name)
    if section is None:
        return "_Not measured._"
    shown = [line for table in section.tables for line in [*as_markdown(table), ""]]
    notes = [line for note in section.notes for line in (note, "")]
    return "\n".join([*shown, *notes, f"_Measured on {report.machines[name]}._"])


def _goals(report: Report, chapter: str) -> str:
    rows = [
        f"| {goal.claim} | {goal.measured} | {VERDICTS[goal.met]} | {_day(report.machines[name])} |"
        for name in PLACE.findall(chapter)
        if name in report.sections
        for goal in report.sections[name].goals
    ]
    return "\n".join(["| goal | measured | | day |", "| --- | --- | --- | --- |", *rows])


def _day(machine: str) -> str:
    """Return the day of a run in the words of ``machine.describe``."""
    return "".join(re.findall(r"\b\d{4}-\d\d-\d\d\b", machine))


def write(kept: Path) -> None:
    """Write the page of the samples in a file beside them, and its chapters."""
    for path, text in render(Report.read(kept)).items():
        page = kept.parent / path
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)


if __name__ == "__main__":
    write(PAGE.with_suffix(".json"))
