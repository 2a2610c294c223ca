"""For how long clients could not use partitions: how many at each time, and for how long in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from kraft.story.report.figure import LEFT_PX, RIGHT_PX, ROW_PX, Trace, hover, legend, rows_axis, timeline, within
from kraft.story.report.marks import Marks
from kraft.story.report.model import ClusterReport, Unavailability
from kraft.story.report.palette import NOBODY_COLOUR, UNKNOWN, Palette
from kraft.story.report.section import Figure, FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, names_of, partition_name, percent, row_label, timestamp

TITLE = "Unavailability"
MAX_ROWS = 20
MAX_STEPS = 1_000
_PLOT_PX = 140
#: Times are alike if they fall into the same of so many parts of the longest one.
_LIKE_TIMES = 50

Name = tuple[str, int]
#: For each partition, the ms of each of its outages by the broker that led it before.
Totals = dict[Name, dict[int | None, list[int]]]


def section(report: ClusterReport, palette: Palette, marks: Marks) -> Section:
    outages = [outage for outage in report.unavailability if within(report, outage) is not None]
    outages.sort(key=lambda outage: (-_length_ms(report, outage), outage.topic, outage.partition, outage.start_ms))
    if not outages:
        known = report.leadership
        said = "Each partition had a leader all the time." if known else "No leadership of a partition is known."
        return Section("unavailability", TITLE, [said])
    totals: Totals = {}
    for outage in outages:
        by_broker = totals.setdefault((outage.topic, outage.partition), {})
        by_broker.setdefault(outage.broker, []).append(_length_ms(report, outage))
    rows = _rows_of(totals)
    shown = rows[:MAX_ROWS]
    notes = [
        "Above: the number of partitions without a leader at each time.",
        "Below: their whole time without one, in the colour of the broker that led them before.",
    ]
    if len(rows) < len(totals):
        notes.append("Partitions with like times share a row, which shows the longest.")
    hidden = sum(map(len, rows[MAX_ROWS:]))
    return Section(
        "unavailability",
        TITLE,
        _sentences(report, marks, outages, len(totals)),
        [_over_time(report, marks, outages), _by_partition(palette, totals, shown)],
        FigureTable.of(("partition", "leader before", "from (UTC)", "for", "reason"), _rows(report, outages)),
        [*notes, *left_out_note(hidden, "partition", "the lower plot shows the longest times")],
    )


def outage_sentence(report: ClusterReport, marks: Marks, outage: Unavailability) -> str:
    """Return the outage in words, as in "Nobody led orders-0 for 2.3 s when broker 2 was killed"."""
    said = f"Nobody led {partition_name(outage.topic, outage.partition)} for {duration(_length_ms(report, outage))}"
    mark = marks.occasion(outage.start_ms, outage.broker)
    if outage.reason:
        return f"{said}: {clean(outage.reason)}"
    return f"{said} when {mark.text}" if mark is not None else said


def _length_ms(report: ClusterReport, outage: Unavailability) -> int:
    span = within(report, outage)
    return 0 if span is None else span[1] - span[0]


def _sentences(
    report: ClusterReport,
    marks: Marks,
    outages: Sequence[Unavailability],
    hit: int,
) -> list[str]:
    names = {(period.topic, period.partition) for period in report.leadership}
    names |= {(outage.topic, outage.partition) for outage in outages}
    whole_ms = (report.end_ms - report.start_ms) * max(report.partitions or 0, len(names))
    lost_ms = sum(_length_ms(report, outage) for outage in outages)
    open_ones = sum(outage.end_ms is None for outage in outages)
    sentences = [f"{outage_sentence(report, marks, outages[0])}."]
    if len(outages) > 1:
        sentences.append(f"{count(len(outages), 'outage')} of {count(hit, 'partition')} add up to {duration(lost_ms)}.")
    if whole_ms:
        sentences.append(f"Partitions had a leader {percent(whole_ms - lost_ms, whole_ms)} of their time.")
    if open_ones:
        sentences.append(f"{count(open_ones, 'outage')} had not ended at the end of the report.")
    return sentences


def _steps(report: ClusterReport, outages: Sequence[Unavailability]) -> list[tuple[int, int]]:
    """Return the times at which the number of partitions without a leader changed, with the number from then on.

    Of more than MAX_STEPS changes, each part of the time keeps its highest number.
    """
    edges: dict[int, int] = {report.start_ms: 0}
    for outage in outages:
        span = within(report, outage)
        if span is not None:
            edges[span[0]] = edges.get(span[0], 0) + 1
            edges[span[1]] = edges.get(span[1], 0) - 1
    steps: list[tuple[int, int]] = []
    number = 0
    for ms in sorted(edges):
        number += edges[ms]
        steps.append((ms, number))
    if len(steps) <= MAX_STEPS:
        return steps
    part_ms = (report.end_ms - report.start_ms) / MAX_STEPS
    highest: dict[int, tuple[int, int]] = {}
    for ms, number in steps:
        part = int((ms - report.start_ms) / part_ms)
        if part not in highest or number > highest[part][1]:
            highest[part] = ms, number
    return [*highest.values(), steps[-1]]


def _over_time(report: ClusterReport, marks: Marks, outages: Sequence[Unavailability]) -> Figure:
    steps = _steps(report, outages)
    steps.append((report.end_ms, steps[-1][1]))
    trace: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "partitions without a leader",
        "x": [timestamp(ms) for ms, _ in steps],
        "y": [number for _, number in steps],
        "line": {"shape": "hv", "color": NOBODY_COLOUR, "width": 2},
        "fill": "tozeroy",
        "hovertext": [
            hover(f"{count(number, 'partition')} without a leader", f"from {timestamp(ms)}") for ms, number in steps
        ],
        "hoverinfo": "text",
        "showlegend": False,
    }
    highest = max(number for _, number in steps)
    axis = {
        "title": {"text": "partitions"},
        "range": [0, highest * 1.08],
        "fixedrange": True,
        "gridcolor": "var(--grid)",
        "zeroline": False,
        "nticks": 5,
        "tickformat": ",d",
    }
    return timeline(report, marks, [trace], axis, _PLOT_PX)


def _rows_of(totals: Totals) -> list[list[Name]]:
    """Return the rows of the lower plot, the longest time first. Many partitions share rows by like times."""
    names = sorted(totals, key=lambda name: (-_sum_ms(totals[name]), name))
    if len(names) <= MAX_ROWS:
        return [[name] for name in names]
    part_ms = max(_sum_ms(totals[names[0]]) / _LIKE_TIMES, 1)
    alike: dict[object, list[Name]] = {}
    for name in names:
        shape = tuple(
            sorted(
                (-1 if broker is None else broker, round(sum(each) / part_ms)) for broker, each in totals[name].items()
            )
        )
        alike.setdefault(shape, []).append(name)
    return list(alike.values())


def _sum_ms(by_broker: dict[int | None, list[int]]) -> int:
    return sum(sum(each) for each in by_broker.values())


def _by_partition(palette: Palette, totals: Totals, rows: Sequence[Sequence[Name]]) -> Figure:
    brokers = sorted(
        {broker for row in rows for broker in totals[row[0]]}, key=lambda broker: (broker is None, broker or 0)
    )
    traces = [_broker_trace(palette, totals, rows, broker) for broker in brokers]
    plot_px = ROW_PX * max(len(rows), 2)
    layout = {
        "height": 10 + plot_px + 90,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": 10, "b": 90},
        "barmode": "stack",
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "showlegend": True,
        "legend": legend(-58 / plot_px),
        "xaxis": {
            "title": {"text": "seconds without a leader"},
            "rangemode": "tozero",
            "gridcolor": "var(--grid)",
            "zeroline": False,
        },
        "yaxis": rows_axis([row_label([partition_name(*name) for name in row]) for row in rows]),
    }
    return {"data": traces, "layout": layout}


def _broker_trace(palette: Palette, totals: Totals, rows: Sequence[Sequence[Name]], broker: int | None) -> Trace:
    bars = [(place, row, totals[row[0]][broker]) for place, row in enumerate(rows) if broker in totals[row[0]]]
    look = palette[broker] if broker is not None else UNKNOWN
    return {
        "type": "bar",
        "orientation": "h",
        "name": look.name,
        "x": [sum(outages) / 1000 for _, _, outages in bars],
        "y": [place for place, _, _ in bars],
        "width": 0.72,
        "text": [duration(sum(outages)) for _, _, outages in bars],
        "textangle": 0,
        "hovertext": [
            hover(
                f"{names_of([partition_name(*name) for name in row])}: nobody led for {duration(sum(outages))}",
                f"{look.name} led before",
                f"{count(len(outages), 'outage')}, the longest of {duration(max(outages))}",
            )
            for _, row, outages in bars
        ],
        "hoverinfo": "text",
        "marker": {"color": look.colour, "pattern": {"shape": look.hatch, "size": 6, "solidity": 0.35}},
    }


def _rows(report: ClusterReport, outages: Sequence[Unavailability]) -> Iterator[tuple[object, ...]]:
    for outage in sorted(outages, key=attrgetter("start_ms")):
        broker = "unknown" if outage.broker is None else f"node {outage.broker}"
        lasted = duration(_length_ms(report, outage)) + ("" if outage.end_ms is not None else ", and longer")
        name = partition_name(outage.topic, outage.partition)
        yield name, broker, timestamp(outage.start_ms), lasted, clean(outage.reason)
