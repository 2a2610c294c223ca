"""A section of the page: a heading, sentences, a plot, and the table with the plot's figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from kraft.story.report.words import count

MAX_ROWS = 200
#: A figure as Plotly takes it: ``data`` and ``layout``. A colour may be a name of the style sheet, as in var(--ink).
Figure = dict[str, Any]


@attrs.frozen
class FigureTable:
    """The first MAX_ROWS rows, and the number of those that are left out."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[object]]) -> FigureTable:
        texts: list[Sequence[str]] = []
        left_out = 0
        for row in rows:
            if len(texts) < MAX_ROWS:
                texts.append(["" if value is None else str(value) for value in row])
            else:
                left_out += 1
        return cls(head, texts, left_out)


@attrs.frozen
class Section:
    """``sentences`` say what the plots show. Without anything to show they say so, and there is no figure or table.

    ``notes`` say how to read the plot, and how much it leaves out.
    """

    id: str
    title: str
    sentences: Sequence[str]
    figures: Sequence[Figure] = ()
    table: FigureTable | None = None
    notes: Sequence[str] = ()


def left_out_note(number: int, noun: str, why: str) -> list[str]:
    """Return a note about rows that a plot leaves out, or no note if it leaves out none."""
    if not number:
        return []
    return [f"{count(number, noun)} {'is' if number == 1 else 'are'} left out: {why}."]
