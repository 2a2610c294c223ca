"""The results of a run: samples by subject, and the text about them. Plain data, kept as JSON beside the rendered
page.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs


@attrs.define
class Row:
    """One measured quantity: a list of samples, one per round, for each subject."""

    label: str
    unit: str
    samples: dict[str, list[float]] = attrs.Factory(dict)

    def add(self, subject: str, value: float) -> None:
        self.samples.setdefault(subject, []).append(value)

    def median(self, subject: str) -> float | None:
        values = self.samples.get(subject)
        return statistics.median(values) if values else None


@attrs.define
class Table:
    """Rows that share their subjects."""

    title: str
    subjects: list[str]
    rows: list[Row] = attrs.Factory(list)
    base: str | None = None
    """The subject that the first one is divided by in the last column."""

    def row(self, label: str, unit: str = "") -> Row:
        """The row of that label; a new one the first time."""
        for row in self.rows:
            if row.label == label:
                return row
        self.rows.append(Row(label, unit))
        return self.rows[-1]


@attrs.define
class Goal:
    """A claim, the measured value, and whether it satisfies the claim; ``met`` is None without a measurement."""

    claim: str
    measured: str
    met: bool | None


@attrs.define
class Section:
    """One part of the page. ``notes`` are the texts of this run besides its tables."""

    name: str
    tables: list[Table] = attrs.Factory(list)
    goals: list[Goal] = attrs.Factory(list)
    notes: list[str] = attrs.Factory(list)


@attrs.define
class Report:
    """All sections that were ever run here; each stands with the machine and the day of its own run."""

    sections: dict[str, Section] = attrs.Factory(dict)
    machines: dict[str, str] = attrs.Factory(dict)

    @classmethod
    def read(cls, path: Path) -> Report:
        return cattrs.structure(json.loads(path.read_text()), cls) if path.exists() else cls()

    def write(self, path: Path) -> None:
        plain: dict[str, Any] = _rounded(cattrs.unstructure(self))
        path.write_text(json.dumps(plain, indent=1) + "\n")


def _rounded(value: Any) -> Any:
    """Four digits are more than any sample is good for."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def ratio_goal(
    claim: str, row: Row, subject: str, base: str, met: Callable[[float], bool], words: str = "{:.2f}×"
) -> Goal:
    """A goal on the median of ``subject`` over that of ``base``."""
    ours, theirs = row.median(subject), row.median(base)
    if ours is None or not theirs:
        return Goal(claim, "not measured", None)
    ratio = ours / theirs
    return Goal(claim, words.format(ratio), met(ratio))


def limit_goal(claim: str, row: Row, subject: str, limit: float) -> Goal:
    """A goal on the median of ``subject`` being at most ``limit``."""
    ours = row.median(subject)
    if ours is None:
        return Goal(claim, "not measured", None)
    return Goal(claim, f"{number(ours)} {row.unit}", ours <= limit)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def number(value: float) -> str:
    """Three significant digits, no exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3g}"


def as_markdown(table: Table) -> list[str]:
    """Median (smallest–largest) per subject, and the ratio to the base."""
    subjects = [each for each in table.subjects if any(each in row.samples for row in table.rows)]
    ratio = table.base if table.base in subjects else None
    head = ["", *subjects, *([f"{subjects[0]} / {ratio}"] if ratio else [])]
    rounds = max((len(samples) for row in table.rows for samples in row.samples.values()), default=0)
    title = f"**{table.title}**, {rounds} round{'s' * (rounds > 1)}"
    lines = [title, "", _line(head), _line(["---"] + ["---:"] * (len(head) - 1))]
    for row in table.rows:
        cells = [_cell(row.samples.get(subject)) for subject in subjects]
        if ratio:
            ours, theirs = row.median(subjects[0]), row.median(ratio)
            cells.append(f"{ours / theirs:.2f}" if ours is not None and theirs else "")
        lines.append(_line([f"{row.label}, {row.unit}" if row.unit else row.label, *cells]))
    return lines


def _cell(values: Sequence[float] | None) -> str:
    if not values:
        return ""
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))}–{number(max(values))})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def merged(old: Report, sections: Mapping[str, Section], machine: str) -> Report:
    """``old`` with the sections of this run in place of its own."""
    return Report({**old.sections, **sections}, {**old.machines, **dict.fromkeys(sections, machine)})
