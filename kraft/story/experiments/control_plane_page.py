"""The page of the experiment on KIP-291: sentences, plots, tables; and the same tables for a page of the docs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from kraft.story.experiments.control_plane import (
    DEDICATED,
    IDLE,
    SATURATED,
    SHARED,
    Cell,
    ControlPlaneResult,
    PlaneGoal,
    Quantiles,
    goals,
)
from kraft.story.experiments.plots import DEDICATED_COLOUR, SHARED_COLOUR, PlotLine, line_traces, log_axis, plot
from kraft.story.report.figure import hover
from kraft.story.report.page import document
from kraft.story.report.section import Figure, FigureTable, Section
from kraft.story.report.words import duration

TITLE = "The control plane of KIP-291, measured"
HINT = "Point at a line to see a value. Drag to zoom; double-click to see all again."
FOOTER = "Made by kraft experiment control-plane."
_SHORTEST_MS = 0.01
_COLOURS = {SHARED: SHARED_COLOUR, DEDICATED: DEDICATED_COLOUR}
_DASHES = {IDLE: "dot", SATURATED: "solid"}
_CELL_HEAD = ("software", "plane", "data plane")

_INTERVALS: tuple[tuple[str, str, Callable[[Cell], Quantiles]], ...] = (
    ("LeaderAndIsr at the new leader", "LeaderAndIsr at<br>the new leader", lambda cell: cell.leaderless),
    ("LeaderAndIsr at the old leader", "LeaderAndIsr at<br>the old leader", lambda cell: cell.usurped),
    ("UpdateMetadata at all brokers", "UpdateMetadata<br>at all brokers", lambda cell: cell.stale),
    ("all brokers name it to a client", "all brokers<br>name it to a client", lambda cell: cell.unknown),
    ("it acknowledges a Produce", "it acknowledges<br>a Produce", lambda cell: cell.unavailable),
)
"""The end of each interval: for tables, for a plot, and how to find it."""


def render(result: ControlPlaneResult) -> str:
    """Return the page. Raises PlotlyMissing if plotly is not installed."""
    return document(
        TITLE,
        "; ".join(f"{name}: {text}" for name, text in result.circumstances),
        sections(result),
        tiles=[(f"{goal.factor:.1f}×", f"{goal.software}: {goal.text}") for goal in goals(result)],
        hint=HINT,
        footer=FOOTER,
    )


def sections(result: ControlPlaneResult) -> list[Section]:
    return [_times(result), _intervals(result), _losses(result), _rounds(result)]


def figures(result: ControlPlaneResult) -> dict[str, Figure]:
    """Return the figures for pictures, by the names of their files."""
    named = {f"times-{_slug(software)}": _times_figure(result, software) for software in result.software}
    return named | {f"intervals-{_slug(software)}": _intervals_figure(result, software) for software in result.software}


def markdown(result: ControlPlaneResult) -> str:
    """Return the tables as Markdown."""
    parts = [f"- {name}: {text}" for name, text in result.circumstances]
    for section in sections(result):
        if section.table is not None:
            rule = "|---" * len(section.table.head) + "|"
            rows = [f"| {' | '.join(row)} |" for row in (section.table.head, *section.table.rows)]
            parts += ["", f"**{section.title}.** {' '.join(section.sentences)}", "", rows[0], rule, *rows[1:]]
    parts += ["", *(f"- {_goal_sentence(goal)}" for goal in goals(result))]
    return "\n".join(parts) + "\n"


def _goal_sentence(goal: PlaneGoal) -> str:
    return f"{goal.software}: {goal.text}: {'met' if goal.is_met else 'not met'} ({goal.factor:.1f}×)"


def _slug(software: str) -> str:
    return software.split()[0].lower()


def _key(cell: Cell) -> tuple[str, str, str]:
    return cell.software, cell.plane, cell.load


def _ms(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.1f}"


def _pair(found: Quantiles) -> str:
    return f"{_ms(found.p50)} / {_ms(found.p99)}"


def _columns(found: Quantiles) -> tuple[str, str, str]:
    return _ms(found.p50), _ms(found.p99), _ms(found.max)


def _times(result: ControlPlaneResult) -> Section:
    head = (*_CELL_HEAD, "requests", "queue p50 ms", "p99", "max", "total p50 ms", "p99", "max")
    rows = [(*_key(cell), len(cell.requests), *_columns(cell.queue), *_columns(cell.total)) for cell in result.cells]
    return Section(
        "times",
        "Times of the controller's requests",
        list(_times_sentences(result)),
        [_times_figure(result, software) for software in result.software],
        FigureTable.of(head, rows),
        ["LeaderAndIsr and UpdateMetadata, in the broker's own request log. The scale is logarithmic."],
    )


def _times_sentences(result: ControlPlaneResult) -> Iterator[str]:
    for software in result.software:
        found = [result.cell(software, plane, SATURATED) for plane in (SHARED, DEDICATED)]
        said = [f"{duration(cell.total.p99)} on the {cell.plane} plane" for cell in found if cell and cell.requests]
        if said:
            yield f"{software}, saturated: the p99 of a controller request is {' and '.join(said)}."


def _times_figure(result: ControlPlaneResult, software: str) -> Figure:
    """Return the share of requests that were done within a time, as one line for each cell."""
    lines: list[PlotLine] = []
    for cell in result.cells:
        if cell.software != software or not cell.requests:
            continue
        values = sorted(max(request.total_ms, _SHORTEST_MS) for request in cell.requests)
        shares = [(place + 1) / len(values) for place in range(len(values))]
        texts = [
            hover(f"{cell.plane}, {cell.load}", f"{share:.0%} within {duration(value)}")
            for share, value in zip(shares, values, strict=True)
        ]
        name = f"{cell.plane} plane, {cell.load}"
        lines.append(PlotLine(name, values, shares, _COLOURS[cell.plane], _DASHES[cell.load], texts))
    title = f"{software}: share of the controller's requests that were done within a time"
    y_axis = {"range": [0, 1.02], "tickformat": ".0%", "fixedrange": True}
    return plot(title, line_traces(lines, "lines"), log_axis("total time, ms"), y_axis)


def _intervals(result: ControlPlaneResult) -> Section:
    head = (*_CELL_HEAD, "moves", *(f"{name}: p50 / p99 ms" for name, _, _ in _INTERVALS))
    rows = [(*_key(cell), len(cell.moves), *(_pair(of(cell)) for _, _, of in _INTERVALS)) for cell in result.cells]
    return Section(
        "intervals",
        "The time from ElectLeaders until the new leader is known",
        list(_interval_sentences(result)),
        [_intervals_figure(result, software) for software in result.software],
        FigureTable.of(head, rows),
        ["Of two equal signs in a column, the lower one is the median, and the upper one the p99."],
    )


def _interval_sentences(result: ControlPlaneResult) -> Iterator[str]:
    for cell in result.cells:
        if cell.load == SATURATED and cell.moves:
            where = f"{cell.software}, {cell.plane} plane, saturated"
            found = cell.leaderless.p50, cell.stale.p50, cell.unavailable.p50
            leads, known, served = (duration(each) for each in found)
            yield (
                f"{where}: half of the new leaders have LeaderAndIsr within {leads}; half of the time all brokers have "
                f"UpdateMetadata within {known}, and a producer an acknowledgement within {served}."
            )


def _intervals_figure(result: ControlPlaneResult, software: str) -> Figure:
    lines: list[PlotLine] = []
    for cell in result.cells:
        if cell.software == software and cell.moves:
            found = [of(cell) for _, _, of in _INTERVALS]
            x = [label for (_, label, _), each in zip(_INTERVALS, found, strict=True) for _ in range(2) if each.count]
            y = [value for each in found if each.count for value in (each.p50, each.p99)]
            name = f"{cell.plane} plane, {cell.load}"
            lines.append(PlotLine(name, x, y, _COLOURS[cell.plane], _DASHES[cell.load]))
    title = f"{software}: from ElectLeaders until … (median and p99)"
    return plot(title, line_traces(lines, "markers"), {"type": "category", "tickangle": 0}, log_axis("ms"))


def _losses(result: ControlPlaneResult) -> Section:
    head = (*_CELL_HEAD, "Produce/s", "acknowledged, acks=1", "lost, acks=1", "lost, acks=all")
    rows = [
        (*_key(cell), f"{cell.produced_per_s:,.0f}", f"{cell.acknowledged:,}", f"{cell.lost:,}", cell.lost_of_all)
        for cell in result.cells
    ]
    lost = sum(cell.lost_of_all for cell in result.cells)
    return Section(
        "losses",
        "Batches that producers lost",
        [f"Acknowledged batches with acks=all that no log has: {lost}."],
        table=FigureTable.of(head, rows),
    )


def _rounds(result: ControlPlaneResult) -> Section:
    found = [
        (cell, cell.rounds, cell.rounds_cpu)
        for cell in result.cells
        if cell.rounds is not None and cell.rounds_cpu is not None
    ]
    title = "Rounds of the event loop"
    if not found:
        return Section("rounds", title, ["No broker of this run has an event loop that was watched."])
    rows = [(*_key(cell), f"{rounds.count:,}", *_columns(rounds), *_columns(cpu)) for cell, rounds, cpu in found]
    return Section(
        "rounds",
        title,
        ["One event loop runs both planes. A request waits for each round in which another task is ahead of it."],
        table=FigureTable.of((*_CELL_HEAD, "rounds", "p50 ms", "p99", "max", "CPU p50 ms", "p99", "max"), rows),
        notes=["Rounds below 0.5 ms are left out. The CPU time leaves out the waits for a CPU that others use."],
    )
