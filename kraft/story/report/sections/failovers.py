"""How long each failover of the active controller took, phase by phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from kraft.story.report.figure import LEFT_PX, RIGHT_PX, ROW_PX, Trace, escaped, hover, legend, rows_axis
from kraft.story.report.model import ClusterReport, Failover
from kraft.story.report.section import Figure, FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, listed, timestamp

TITLE = "Failovers of the active controller"
MAX_FAILOVERS = 30
#: Shades of one colour, dark to light, so that no phase looks like a broker.
_SHADES = ("#3B3B5C", "#6C6C96", "#9D9DC6", "#C9C9E3", "#8A7F8D", "#B9AEBB")


def section(report: ClusterReport) -> Section:
    failovers = sorted(
        (each for each in report.failovers if each.phases and report.start_ms <= end_of(each) <= report.end_ms),
        key=end_of,
    )
    if not failovers:
        return Section("failovers", TITLE, ["No failover of the active controller is known in this time."])
    shown = sorted(sorted(failovers, key=_length_ms, reverse=True)[:MAX_FAILOVERS], key=end_of)
    return Section(
        "failovers",
        TITLE,
        _sentences(failovers),
        [_figure(shown)],
        FigureTable.of(("failover", "phase", "from (UTC)", "took"), _rows(failovers)),
        [
            "The seconds begin when the former controller was last known to lead.",
            *left_out_note(len(failovers) - len(shown), "failover", "the plot shows the longest ones"),
        ],
    )


def end_of(failover: Failover) -> int:
    """Return the time at which the successor was active. The failover has a phase."""
    return max(phase.end_ms for phase in failover.phases)


def _length_ms(failover: Failover) -> int:
    return end_of(failover) - min(phase.start_ms for phase in failover.phases)


def _name(failover: Failover) -> str:
    former = "nobody" if failover.former is None else str(failover.former)
    return f"{former} → {failover.successor}, epoch {failover.epoch}"


def _sentences(failovers: Sequence[Failover]) -> list[str]:
    longest = max(failovers, key=_length_ms)
    parts = listed(
        f"{clean(phase.name)} {duration(phase.end_ms - phase.start_ms)}"
        for phase in sorted(longest.phases, key=attrgetter("start_ms"))
    )
    former = "" if longest.former is None else f" from node {longest.former}"
    took = f"{former} to node {longest.successor}, took {duration(_length_ms(longest))}: {parts}."
    return [f"{count(len(failovers), 'failover')}. The longest,{took}"]


def _figure(failovers: Sequence[Failover]) -> Figure:
    names = list(dict.fromkeys(phase.name for failover in failovers for phase in failover.phases))
    traces: list[Trace] = []
    for place, name in enumerate(names):
        phases = [
            (row, failover, phase, min(each.start_ms for each in failover.phases))
            for row, failover in enumerate(failovers)
            for phase in failover.phases
            if phase.name == name
        ]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": escaped(clean(name, 60)),
                "base": [(phase.start_ms - began) / 1000 for _, _, phase, began in phases],
                "x": [(phase.end_ms - phase.start_ms) / 1000 for _, _, phase, _ in phases],
                "y": [row for row, _, _, _ in phases],
                "width": 0.72,
                "text": [duration(phase.end_ms - phase.start_ms) for _, _, phase, _ in phases],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "hovertext": [
                    hover(
                        f"{clean(name)}: {duration(phase.end_ms - phase.start_ms)}",
                        f"failover {_name(failover)}",
                        f"from {timestamp(phase.start_ms)}",
                    )
                    for _, failover, phase, _ in phases
                ],
                "hoverinfo": "text",
                "marker": {"color": _SHADES[place % len(_SHADES)], "line": {"color": "var(--paper)", "width": 1}},
            }
        )
    plot_px = ROW_PX * max(len(failovers), 2)
    layout = {
        "height": 10 + plot_px + 90,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": 10, "b": 90},
        "barmode": "overlay",
        "showlegend": True,
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "legend": legend(-58 / plot_px),
        "xaxis": {
            "title": {"text": "seconds"},
            "rangemode": "tozero",
            "gridcolor": "var(--grid)",
            "zeroline": False,
        },
        "yaxis": rows_axis([_name(failover) for failover in failovers]),
    }
    return {"data": traces, "layout": layout}


def _rows(failovers: Sequence[Failover]) -> Iterator[tuple[object, ...]]:
    for failover in failovers:
        for phase in sorted(failover.phases, key=attrgetter("start_ms")):
            yield (
                _name(failover),
                clean(phase.name),
                timestamp(phase.start_ms),
                duration(phase.end_ms - phase.start_ms),
            )
