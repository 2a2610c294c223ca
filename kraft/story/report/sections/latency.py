"""Response times by plane over time, one plot for each plane on the same scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

import attrs

from kraft.story.report.figure import Trace, escaped, hover, timeline
from kraft.story.report.marks import Marks
from kraft.story.report.model import ClusterReport, LatencyWindow
from kraft.story.report.section import FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, listed, timestamp

TITLE = "Latency by plane"
MAX_PLANES = 4
MAX_WINDOWS = 720
_PLOT_PX = 150
_LINES = (
    ("p50_ms", "p50", "solid"),
    ("p90_ms", "p90", "dash"),
    ("p99_ms", "p99", "solid"),
    ("p999_ms", "p99.9", "dot"),
)
_COLOURS = ("var(--ink)", "var(--faint)", "var(--accent)", "var(--accent)")


def section(report: ClusterReport, marks: Marks) -> Section:
    planes: dict[str, list[LatencyWindow]] = {}
    for window in sorted(report.latency, key=attrgetter("plane", "start_ms")):
        if window.count and report.start_ms - window.length_ms < window.start_ms <= report.end_ms:
            planes.setdefault(window.plane, []).append(window)
    if not planes:
        return Section("latency", TITLE, ["No request log covers this time."])
    chosen = sorted(planes, key=lambda plane: (-sum(window.count for window in planes[plane]), plane))[:MAX_PLANES]
    merged = {plane: _merged(planes[plane]) for plane in chosen}
    y_axis = _axis([window for windows in merged.values() for window in windows])
    notes = [
        "The planes have the same scale, which is logarithmic. A point is one window of time.",
        *left_out_note(len(planes) - len(chosen), "plane", "the plots show those with most requests"),
    ]
    if any(len(merged[plane]) < len(planes[plane]) for plane in chosen):
        notes.append("Windows are merged; a point is then the worst of its windows.")
    return Section(
        "latency",
        TITLE,
        [_sentence(plane, planes[plane]) for plane in chosen],
        [
            timeline(
                report,
                marks,
                _traces(merged[plane]),
                {**y_axis, "title": {"text": f"{escaped(clean(plane, 24))}, ms"}},
                _PLOT_PX,
            )
            for plane in chosen
        ],
        FigureTable.of(
            ("plane", "window (UTC)", "requests", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms"),
            (row for plane in chosen for row in _rows(planes[plane])),
        ),
        notes,
    )


def _merged(windows: Sequence[LatencyWindow]) -> list[LatencyWindow]:
    """Return at most MAX_WINDOWS windows. One that replaces several has their worst times, and counts all requests."""
    size = math.ceil(len(windows) / MAX_WINDOWS)
    groups = [windows[place : place + size] for place in range(0, len(windows), size)]
    return [
        attrs.evolve(
            group[0],
            length_ms=group[-1].start_ms + group[-1].length_ms - group[0].start_ms,
            count=sum(window.count for window in group),
            **{name: max(getattr(window, name) for window in group) for name, _, _ in _LINES},
        )
        for group in groups
    ]


def _axis(windows: Sequence[LatencyWindow]) -> dict[str, object]:
    lowest = min(window.p50_ms for window in windows)
    highest = max(max(window.p99_ms, window.p999_ms) for window in windows)
    bottom = math.floor(math.log10(max(lowest, 0.01)))
    top = max(math.ceil(math.log10(max(highest, 0.01))), bottom + 1)
    return {
        "type": "log",
        "range": [bottom, top + 0.05],
        "dtick": 1,
        "ticksuffix": "",
        "gridcolor": "var(--grid)",
        "fixedrange": True,
        "zeroline": False,
    }


def _traces(windows: Sequence[LatencyWindow]) -> list[Trace]:
    traces: list[Trace] = []
    for (name, label, dash), colour in zip(_LINES, _COLOURS, strict=True):
        times: list[str | None] = []
        values: list[float | None] = []
        texts: list[str] = []
        end_ms = None
        for window in windows:
            if end_ms is not None and window.start_ms > end_ms + window.length_ms / 2:  # nothing was logged: a gap
                times.append(None)
                values.append(None)
                texts.append("")
            end_ms = window.start_ms + window.length_ms
            value = getattr(window, name)
            times.append(timestamp(window.start_ms + window.length_ms // 2))
            values.append(max(value, 0.01))
            texts.append(_hover(window, label, value))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label,
                "x": times,
                "y": values,
                "hovertext": texts,
                "hoverinfo": "text",
                "line": {"color": colour, "dash": dash, "width": 2},
                "marker": {"size": 5, "color": colour},
            }
        )
    return traces


def _hover(window: LatencyWindow, label: str, value: float) -> str:
    return hover(
        f"{clean(window.plane)}: {label} {duration(value)}",
        f"{timestamp(window.start_ms)}, {duration(window.length_ms)} long",
        f"{count(window.count, 'request')}: p50 {duration(window.p50_ms)}, p99 {duration(window.p99_ms)}, "
        f"p99.9 {duration(window.p999_ms)}",
    )


def _sentence(plane: str, windows: Sequence[LatencyWindow]) -> str:
    requests = sum(window.count for window in windows)
    worst = max(windows, key=lambda window: window.p99_ms)
    typical = sorted(window.p50_ms for window in windows)[len(windows) // 2]
    said = listed([f"{count(requests, 'request')}", f"a median of {duration(typical)}"])
    return f"The {clean(plane)} plane had {said}; its worst p99 was {duration(worst.p99_ms)}."


def _rows(windows: Sequence[LatencyWindow]) -> Iterator[tuple[object, ...]]:
    for window in windows:
        figures = (f"{getattr(window, name):.2f}" for name, _, _ in _LINES)
        yield clean(window.plane), timestamp(window.start_ms), f"{window.count:,}", *figures
