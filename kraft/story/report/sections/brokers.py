"""The states of the brokers' registrations over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

import attrs

from kraft.story.report.figure import ROW_PX, Bar, bar_traces, hover, rows_axis, timeline, within
from kraft.story.report.marks import Marks
from kraft.story.report.model import BrokerPeriod, BrokerState, ClusterReport
from kraft.story.report.palette import NOBODY, Look, Palette
from kraft.story.report.section import FigureTable, Section, left_out_note
from kraft.story.report.words import clean, count, duration, listed, timestamp

TITLE = "State of the brokers"
MAX_BROKERS = 60
MAX_PERIODS = 4_000
_FENCED = attrs.evolve(NOBODY, name="fenced", hatch="x")
_REGISTERED = Look("registered, not yet unfenced", "var(--faint)")


def section(report: ClusterReport, palette: Palette, marks: Marks) -> Section:
    periods = sorted(
        (period for period in report.brokers if within(report, period) is not None),
        key=attrgetter("broker", "start_ms"),
    )
    if not periods:
        return Section("brokers", TITLE, ["No registration of a broker is known in this time."])
    fenced_ms = fenced_times(report)
    brokers = {period.broker for period in periods}
    chosen = sorted(sorted(brokers, key=lambda broker: (-fenced_ms.get(broker, 0), broker))[:MAX_BROKERS])
    shown = [period for period in periods if period.broker in chosen][:MAX_PERIODS]
    row = {broker: place for place, broker in enumerate(chosen)}
    traces = bar_traces(_bars(report, palette, shown, row))
    figure = timeline(
        report, marks, traces, rows_axis([f"broker {broker}" for broker in chosen]), ROW_PX * max(len(chosen), 2)
    )
    return Section(
        "brokers",
        TITLE,
        _sentences(brokers, fenced_ms),
        [figure],
        FigureTable.of(("broker", "state", "from (UTC)", "for", "reason"), _rows(report, periods)),
        [
            "A fenced broker leads no partition. The controller fences a killed broker when its session times out.",
            *left_out_note(len(brokers) - len(chosen), "broker", "the plot shows those that were fenced longest"),
            *left_out_note(
                sum(period.broker in row for period in periods) - len(shown), "period", "the plot shows the first ones"
            ),
        ],
    )


def fenced_times(report: ClusterReport) -> dict[int, int]:
    """Return for each broker that was fenced for how many ms it was, within the report."""
    total: dict[int, int] = {}
    for period in report.brokers:
        span = within(report, period)
        if period.state is BrokerState.FENCED and span is not None:
            total[period.broker] = total.get(period.broker, 0) + span[1] - span[0]
    return total


def _sentences(brokers: set[int], fenced_ms: dict[int, int]) -> list[str]:
    if not fenced_ms:
        return [f"None of {count(len(brokers), 'broker')} was fenced."]
    order = sorted(fenced_ms, key=lambda broker: (-fenced_ms[broker], broker))
    said = listed(f"broker {broker} for {duration(fenced_ms[broker])}" for broker in order[:4])
    rest = len(order) - 4
    return [f"Fenced: {said}{f', and {rest:,} more' if rest > 0 else ''}."]


def _look(palette: Palette, period: BrokerPeriod) -> Look:
    match period.state:
        case BrokerState.FENCED:
            return _FENCED
        case BrokerState.REGISTERED:
            return _REGISTERED
        case BrokerState.CONTROLLED_SHUTDOWN:
            own = palette[period.broker]
            return attrs.evolve(own, name=f"{own.name} in controlled shutdown", hatch="-")
        case BrokerState.UNFENCED:
            return palette[period.broker]


def _bars(
    report: ClusterReport, palette: Palette, periods: Sequence[BrokerPeriod], row: dict[int, int]
) -> Iterator[Bar]:
    for period in periods:
        span = within(report, period)
        if span is not None:
            lasted = duration(span[1] - span[0])
            text = hover(
                f"broker {period.broker} was {period.state.value}",
                f"from {timestamp(period.start_ms)} for {lasted}",
                clean(period.reason, 300),
            )
            yield Bar(row[period.broker], *span, _look(palette, period), text)


def _rows(report: ClusterReport, periods: Sequence[BrokerPeriod]) -> Iterator[tuple[object, ...]]:
    for period in periods:
        end_ms = report.end_ms if period.end_ms is None else period.end_ms
        lasted = duration(end_ms - period.start_ms) if end_ms >= period.start_ms else None
        yield f"broker {period.broker}", period.state.value, timestamp(period.start_ms), lasted, clean(period.reason)
