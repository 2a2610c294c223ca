"""Which broker led which partition when.

A row is a partition while there are few. Of many partitions, those with the same history share a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

import attrs

from kraft.story.report.figure import ROW_PX, Bar, bar_traces, hover, rows_axis, timeline, within
from kraft.story.report.marks import Marks
from kraft.story.report.model import ClusterReport, LeadershipPeriod
from kraft.story.report.palette import SEVERAL, Palette
from kraft.story.report.section import FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, names_of, partition_name, row_label, timestamp

TITLE = "Which broker led which partition"
MAX_ROWS = 40
#: Histories are the same if their changes fall into the same parts of the report's time.
_SAME_PARTS = 400
#: A row with more bars than this shows runs of short ones as one bar.
_MOST_BARS = 200


@attrs.frozen
class _Row:
    """Partitions with one history. ``periods`` are those of the first."""

    partitions: Sequence[str]
    periods: Sequence[LeadershipPeriod]
    nobody_ms: int

    @property
    def changes(self) -> int:
        return len(self.periods) - 1


def section(report: ClusterReport, palette: Palette, marks: Marks) -> Section:
    rows = _rows(report)
    partitions = sum(len(row.partitions) for row in rows)
    if not rows:
        return Section("partitions", TITLE, ["No leadership of a partition is known in this time."])
    shown = rows[:MAX_ROWS]
    labels = [row_label(row.partitions) for row in shown]
    bars = [bar for place, row in enumerate(shown) for bar in _bars(report, palette, place, row)]
    bars.sort(key=lambda bar: (bar.look is SEVERAL, bar.look.name))
    figure = timeline(report, marks, bar_traces(bars), rows_axis(labels), ROW_PX * max(len(shown), 2))
    hidden = sum(len(row.partitions) for row in rows[MAX_ROWS:])
    unselected = (report.partitions or 0) - partitions
    notes = [
        "The metadata names a killed broker as leader until the controller fences it.",
        *left_out_note(hidden, "partition", "the plot shows those that had no leader longest or changed it most"),
    ]
    if unselected > 0:
        notes.append(f"The cluster has {count(unselected, 'more partition')}, which are not in this report.")
    if len(rows) < partitions:
        notes.append("Partitions with the same history share a row.")
    return Section(
        "partitions",
        TITLE,
        _sentences(report, rows),
        [figure],
        FigureTable.of(("partition", "leader", "epoch", "from (UTC)", "led for", "reason"), _cells(report, rows)),
        notes,
    )


def _rows(report: ClusterReport) -> list[_Row]:
    """Return the rows: by name if each partition has one, otherwise those with most trouble first."""
    periods: dict[tuple[str, int], list[LeadershipPeriod]] = {}
    for period in sorted(report.leadership, key=attrgetter("topic", "partition", "start_ms")):
        if within(report, period) is not None:
            periods.setdefault((period.topic, period.partition), []).append(period)
    if len(periods) <= MAX_ROWS:
        return [_row(report, [name], each) for name, each in periods.items()]
    same: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    for name, each in periods.items():
        same.setdefault(tuple(_shape(report, each)), []).append(name)
    rows = [_row(report, names, periods[names[0]]) for names in same.values()]
    return sorted(rows, key=lambda row: (-row.nobody_ms, -row.changes, -len(row.partitions)))


def _row(report: ClusterReport, names: Sequence[tuple[str, int]], periods: Sequence[LeadershipPeriod]) -> _Row:
    spans = [within(report, period) for period in periods if period.leader is None]
    nobody_ms = sum(span[1] - span[0] for span in spans if span is not None)
    return _Row([partition_name(*name) for name in names], periods, nobody_ms)


def _shape(report: ClusterReport, periods: Sequence[LeadershipPeriod]) -> Iterator[object]:
    """Yield values that are equal for partitions whose histories look the same."""
    part_ms = max((report.end_ms - report.start_ms) / _SAME_PARTS, 1)
    for period in periods:
        span = within(report, period)
        if span is not None:
            yield period.leader, round(span[0] / part_ms), round(span[1] / part_ms)


def _bars(report: ClusterReport, palette: Palette, place: int, row: _Row) -> Iterator[Bar]:
    if len(row.periods) > _MOST_BARS:
        yield from _merged_bars(report, palette, place, row)
        return
    for period in row.periods:
        yield from _bar(report, palette, place, row, period)


def _bar(report: ClusterReport, palette: Palette, place: int, row: _Row, period: LeadershipPeriod) -> Iterator[Bar]:
    span = within(report, period)
    if span is not None:
        names = names_of(row.partitions)
        title = f"nobody led {names}" if period.leader is None else f"node {period.leader} led {names}"
        times = f"from {timestamp(period.start_ms)} for {duration(span[1] - span[0])}, leader epoch {period.epoch}"
        label = "" if period.leader is None else str(period.leader)
        look = palette[period.leader]
        yield Bar(place, *span, look, hover(title, times, clean(period.reason, 300)), label)


def _merged_bars(report: ClusterReport, palette: Palette, place: int, row: _Row) -> Iterator[Bar]:
    """Yield bars in which runs of short periods are one, so that a flapping partition has a bounded number."""
    part_ms = max((report.end_ms - report.start_ms) / _MOST_BARS, 1)
    run: list[LeadershipPeriod] = []
    for period in (*row.periods, None):
        span = None if period is None else within(report, period)
        short = span is not None and span[1] - span[0] < part_ms
        if run and (not short or (span is not None and span[1] - run[0].start_ms > part_ms)):
            yield from _run_bar(report, palette, place, row, run)
            run = []
        if period is not None and short:
            run.append(period)
        elif period is not None:
            yield from _bar(report, palette, place, row, period)


def _run_bar(
    report: ClusterReport, palette: Palette, place: int, row: _Row, run: Sequence[LeadershipPeriod]
) -> Iterator[Bar]:
    first, last = within(report, run[0]), within(report, run[-1])
    if len(run) == 1:
        yield from _bar(report, palette, place, row, run[0])
    elif first is not None and last is not None:
        nobody_ms = _row(report, (), [period for period in run if period.leader is None]).nobody_ms
        title = f"{names_of(row.partitions)}: {count(len(run), 'leadership')} in {duration(last[1] - first[0])}"
        text = hover(title, f"from {timestamp(first[0])}", f"nobody led for {duration(nobody_ms)} of it")
        yield Bar(place, first[0], last[1], SEVERAL, text)


def _sentences(report: ClusterReport, rows: Sequence[_Row]) -> list[str]:
    partitions = sum(len(row.partitions) for row in rows)
    changes = sum(row.changes * len(row.partitions) for row in rows)
    if not changes:
        return [f"The {count(partitions, 'partition')} kept one leader all the time."]
    last: dict[int | None, int] = {}
    for row in rows:
        last[row.periods[-1].leader] = last.get(row.periods[-1].leader, 0) + len(row.partitions)
    sentences = [f"{count(partitions, 'partition')} changed their leaders {count(changes, 'time')} in all."]
    leading = {leader: led for leader, led in last.items() if leader is not None}
    if leading:
        most = max(leading, key=lambda leader: leading[leader])
        sentences.append(f"At the end, node {most} led most of them: {leading[most]:,}.")
    if None in last:
        sentences.append(f"Nobody led {count(last[None], 'partition')} at the end.")
    return sentences


def _cells(report: ClusterReport, rows: Sequence[_Row]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        for period in row.periods:
            leader = "nobody" if period.leader is None else f"node {period.leader}"
            end_ms = report.end_ms if period.end_ms is None else period.end_ms
            lasted = duration(max(end_ms - period.start_ms, 0))
            names = names_of(row.partitions)
            yield names, leader, period.epoch, timestamp(period.start_ms), lasted, clean(period.reason)
