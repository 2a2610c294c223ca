"""Timelines and bars as Plotly takes them: plain dicts, made without Plotly, so that a test can read them.

All timelines have the same margins and the same range of time, so that one lies exactly below the other. Rows count
from the top. The script of the page keeps the ranges of all timelines equal while a reader zooms.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence

import attrs

from kraft.story.report.marks import Mark, Marks
from kraft.story.report.model import ClusterReport, HasSpan
from kraft.story.report.palette import Look
from kraft.story.report.section import Figure
from kraft.story.report.words import clean, timestamp

Trace = dict[str, object]

LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 150, 24, 34, 72
ROW_PX = 26
_LONGEST_LABEL = 22
_WRAP = 72
#: Marks closer than this share of the report's time have one label, as in A–C.
_CLOSE = 0.012


@attrs.frozen
class Bar:
    """A bar from ``start_ms`` to ``end_ms`` in a row of a timeline."""

    row: int
    start_ms: int
    end_ms: int
    look: Look
    hover: str
    text: str = ""


@attrs.frozen
class Point:
    """A sign at one time in a row of a timeline. ``kind`` is its name in the legend."""

    row: float
    ms: int
    kind: str
    symbol: str
    look: Look
    hover: str


def escaped(text: str) -> str:
    """Return the text so that Plotly, which reads some HTML and formulas in its texts, shows it as it is."""
    return html.escape(clean(text), quote=False).replace("$", "&#36;")


def hover(title: str, *lines: str) -> str:
    """Return a hover text: a title in bold and lines, wrapped."""
    wrapped = [escaped(part) for line in lines if line for part in textwrap.wrap(clean(line, 400), _WRAP)]
    return "<br>".join([f"<b>{escaped(title)}</b>", *wrapped])


def within(report: ClusterReport, interval: HasSpan) -> tuple[int, int] | None:
    """Return begin and end of the interval's part within the report. None if it has none."""
    end_ms = report.end_ms if interval.end_ms is None else min(interval.end_ms, report.end_ms)
    start_ms = max(interval.start_ms, report.start_ms)
    return (start_ms, end_ms) if start_ms <= end_ms and interval.start_ms < report.end_ms else None


def bar_traces(bars: Iterable[Bar]) -> list[Trace]:
    """Return a trace for each look, so that the legend names it once."""
    by_look: dict[Look, list[Bar]] = {}
    for bar in bars:
        by_look.setdefault(bar.look, []).append(bar)
    return [
        {
            "type": "bar",
            "orientation": "h",
            "name": escaped(look.name),
            "base": [timestamp(bar.start_ms) for bar in group],
            "x": [bar.end_ms - bar.start_ms for bar in group],
            "y": [bar.row for bar in group],
            "width": 0.72,
            "text": [escaped(bar.text) for bar in group],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "hovertext": [bar.hover for bar in group],
            "hoverinfo": "text",
            # The outline keeps a bar visible that is shorter than a pixel.
            "marker": {
                "color": look.colour,
                "line": {"color": look.colour, "width": 1},
                "pattern": {"shape": look.hatch, "size": 6, "solidity": 0.35},
            },
        }
        for look, group in by_look.items()
    ]


def point_traces(points: Iterable[Point]) -> list[Trace]:
    """Return a trace for each kind of point."""
    by_kind: dict[str, list[Point]] = {}
    for point in points:
        by_kind.setdefault(point.kind, []).append(point)
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": escaped(kind),
            "x": [timestamp(point.ms) for point in group],
            "y": [point.row for point in group],
            "hovertext": [point.hover for point in group],
            "hoverinfo": "text",
            "marker": {
                "symbol": [point.symbol for point in group],
                "color": [point.look.colour for point in group],
                "size": 11,
                "line": {"color": "var(--ink)", "width": 1},
            },
        }
        for kind, group in by_kind.items()
    ]


def rows_axis(labels: Sequence[str]) -> dict[str, object]:
    """Return the axis of a timeline with one row for each label, from top to bottom."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [escaped(clean(label, _LONGEST_LABEL)) for label in labels],
        "range": [len(labels) - 0.5, -0.5],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
    }


def legend(y: float) -> dict[str, object]:
    """Return a legend below the plot. ``y`` counts from its lower edge, in heights of the plot."""
    return {
        "orientation": "h",
        "yanchor": "top",
        "y": y,
        "x": 0,
        "traceorder": "normal",
        "maxheight": 400,
    }


def timeline(
    report: ClusterReport, marks: Marks, traces: Sequence[Trace], y_axis: dict[str, object], plot_px: int
) -> Figure:
    """Return a figure over the whole time of the report, with the marks."""
    height = TOP_PX + plot_px + BOTTOM_PX
    layout = {
        "meta": {"timeline": True},
        "height": height,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": TOP_PX, "b": BOTTOM_PX},
        "barmode": "overlay",
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "xaxis": {
            "type": "date",
            "range": [timestamp(report.start_ms), timestamp(max(report.end_ms, report.start_ms + 1))],
            "gridcolor": "var(--grid)",
            "zeroline": False,
        },
        "yaxis": y_axis,
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        "legend": legend(-38 / plot_px),
    }
    return {"data": [*traces, *_mark_traces(report, marks)], "layout": layout}


def _mark_traces(report: ClusterReport, marks: Marks) -> list[Trace]:
    if not marks.marks:
        return []
    shared = {"type": "scatter", "yaxis": "y2", "showlegend": False}
    times = [timestamp(mark.ms) for mark in marks.marks]
    lines: Trace = {
        **shared,
        "mode": "lines",
        "x": [each for time in times for each in (time, time, None)],
        "y": [each for _ in times for each in (0, 1, None)],
        "hoverinfo": "skip",
        "line": {"color": "var(--ink)", "width": 1, "dash": "dot"},
    }
    heads: Trace = {
        **shared,
        "mode": "markers+text",
        "name": "events",
        "x": times,
        "y": [1] * len(times),
        "text": _labels(marks.marks, (report.end_ms - report.start_ms) * _CLOSE),
        "textposition": "top center",
        "hovertext": [hover(f"{mark.letter}: {mark.text}", timestamp(mark.ms)) for mark in marks.marks],
        "hoverinfo": "text",
        "cliponaxis": False,
        "marker": {"symbol": "triangle-down", "size": 9, "color": "var(--ink)"},
    }
    return [lines, heads]


def _labels(marks: Sequence[Mark], close_ms: float) -> list[str]:
    """Return the marks' letters. Letters that would overlap stand at the first of their marks, as in A–C."""
    groups: list[list[Mark]] = []
    for mark in marks:
        if groups and mark.ms - groups[-1][-1].ms < close_ms:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    labels: list[str] = []
    for group in groups:
        first, last = group[0].letter, group[-1].letter
        labels += [first if first == last else f"{first}–{last}", *[""] * (len(group) - 1)]
    return labels
