"""For how long clients could not use partitions: how many at each time, and for how long in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from kraft.story.report.figure import LEFT_PX, RIGHT_PX, ROW_PX, Trace, hover, rows_axis, timeline, within
from kraft.story.report.marks import Marks
from kraft.story.report.model import ClusterReport, Unavailability
from kraft.story.report.palette import NOBODY_COLOUR, Palette
from kraft.story.report.section import Figure, Section, Table, left_out_note
from kraft.story.report.words import clean, count, duration, partition_name, percent, timestamp

TITLE = "Unavailability"
MAX_PARTITIONS = 20
MAX_STEPS = 1_000
_PLOT_PX = 140


def section(report: ClusterReport, palette: Palette, marks: Marks) -> Section:
    outages = [outage for outage in report.unavailability if within(report, outage) is not None]
    outages.sort(key=lambda outage: (-_length_ms(report, outage), outage.topic, outage.partition, outage.start_ms))
    if not outages:
        return Section("unavailability", TITLE, ["Each partition had a leader all the time that is known."])
    total_ms: dict[tuple[str, int], int] = {}
    for outage in outages:
        name = outage.topic, outage.partition
        total_ms[name] = total_ms.get(name, 0) + _length_ms(report, outage)
    worst = sorted(total_ms, key=lambda name: (-total_ms[name], name))[:MAX_PARTITIONS]
    return Section(
        "unavailability",
        TITLE,
        _sentences(report, marks, outages, total_ms),
        [_over_time(report, marks, outages), _by_partition(report, palette, outages, worst)],
        Table.of(("partition", "leader before", "from (UTC)", "for", "reason"), _rows(report, outages)),
        [
            "Above: the number of partitions without a leader at each time.",
            "Below: their whole time without one, in the colour of the broker that led them before.",
            *left_out_note(len(total_ms) - len(worst), "partition", "the lower plot shows the longest times"),
        ],
    )


def outage_sentence(report: ClusterReport, marks: Marks, outage: Unavailability) -> str:
    """Return the outage in words, as in "Nobody led orders-0 for 2.3 s when broker 2 was killed"."""
    said = f"Nobody led {partition_name(outage.topic, outage.partition)} for {duration(_length_ms(report, outage))}"
    mark = marks.near(outage.start_ms)
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
    total_ms: dict[tuple[str, int], int],
) -> list[str]:
    known = len({(period.topic, period.partition) for period in report.leadership} | total_ms.keys())
    whole_ms = (report.end_ms - report.start_ms) * max(report.partitions or 0, known)
    lost_ms = sum(total_ms.values())
    open_ones = sum(outage.end_ms is None for outage in outages)
    sentences = [f"{outage_sentence(report, marks, outages[0])}."]
    if len(outages) > 1:
        sentences.append(
            f"{count(len(outages), 'outage')} of {count(len(total_ms), 'partition')} add up to {duration(lost_ms)}."
        )
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
        "title": {"text": "partitions without a leader"},
        "range": [0, highest * 1.08],
        "fixedrange": True,
        "gridcolor": "var(--grid)",
        "zeroline": False,
        "nticks": 5,
        "tickformat": ",d",
    }
    return timeline(report, marks, [trace], axis, _PLOT_PX)


def _by_partition(
    report: ClusterReport, palette: Palette, outages: Sequence[Unavailability], worst: Sequence[tuple[str, int]]
) -> Figure:
    seconds: dict[int | None, dict[tuple[str, int], list[float]]] = {}
    for outage in sorted(outages, key=lambda outage: (outage.broker is None, outage.broker or 0)):
        name = outage.topic, outage.partition
        if name in worst:
            seconds.setdefault(outage.broker, {}).setdefault(name, []).append(_length_ms(report, outage) / 1000)
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "unknown leader" if broker is None else f"node {broker}",
            "x": [sum(of_partition[name]) for name in of_partition],
            "y": [worst.index(name) for name in of_partition],
            "width": 0.72,
            "text": [duration(sum(of_partition[name]) * 1000) for name in of_partition],
            "hovertext": [
                hover(
                    f"{partition_name(*name)}: nobody led for {duration(sum(each) * 1000)}",
                    "" if broker is None else f"node {broker} led it before",
                    f"{count(len(each), 'outage')}, the longest of {duration(max(each) * 1000)}",
                )
                for name, each in of_partition.items()
            ],
            "hoverinfo": "text",
            "marker": {
                "color": "var(--faint)" if broker is None else palette[broker].colour,
                "pattern": {"shape": "" if broker is None else palette[broker].hatch, "size": 6, "solidity": 0.35},
            },
        }
        for broker, of_partition in seconds.items()
    ]
    plot_px = ROW_PX * max(len(worst), 2)
    layout = {
        "height": 10 + plot_px + 74,
        "margin": {"l": LEFT_PX, "r": RIGHT_PX, "t": 10, "b": 74},
        "barmode": "stack",
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "top", "y": -46 / plot_px, "x": 0},
        "xaxis": {
            "title": {"text": "seconds without a leader"},
            "rangemode": "tozero",
            "gridcolor": "var(--grid)",
            "zeroline": False,
        },
        "yaxis": rows_axis([partition_name(*name) for name in worst]),
    }
    return {"data": traces, "layout": layout}


def _rows(report: ClusterReport, outages: Sequence[Unavailability]) -> Iterator[tuple[object, ...]]:
    for outage in sorted(outages, key=attrgetter("start_ms")):
        broker = "unknown" if outage.broker is None else f"node {outage.broker}"
        lasted = duration(_length_ms(report, outage)) + ("" if outage.end_ms is not None else ", and longer")
        name = partition_name(outage.topic, outage.partition)
        yield name, broker, timestamp(outage.start_ms), lasted, clean(outage.reason)
