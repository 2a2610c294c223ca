"""Which node led the metadata quorum when, and who stood for election, with every vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import attrs

from kraft.story.quorum_timeline import LeaderTerm
from kraft.story.report.figure import (
    ROW_PX,
    Bar,
    Point,
    bar_traces,
    hover,
    point_traces,
    rows_axis,
    timeline,
    within,
)
from kraft.story.report.marks import Marks
from kraft.story.report.model import Candidacy, ClusterReport, VoteCast
from kraft.story.report.palette import NOBODY, Palette
from kraft.story.report.section import Figure, FigureTable, Section, left_out_note
from kraft.story.report.words import clean, clock, count, duration, timestamp

TITLE = "Who led the metadata quorum"
MAX_POINTS = 2_000
MAX_TERMS = 1_000
_NOBODY_ROW = 0


def section(report: ClusterReport, palette: Palette, marks: Marks) -> Section:
    terms = [term for term in sorted(report.quorum.terms, key=attrgetter("epoch")) if _shown(report, term)]
    events = _events(report)
    if not terms and not events:
        return Section("quorum", TITLE, ["No leader and no election is known in this time."])
    shown_terms, shown_events = terms[:MAX_TERMS], events[:MAX_POINTS]
    return Section(
        "quorum",
        TITLE,
        _sentences(report, marks, terms),
        [_figure(report, palette, marks, shown_terms, shown_events)],
        FigureTable.of(("epoch", "leader", "from (UTC)", "led for", "ended because"), _rows(terms)),
        [
            "A bar is a leader's term. A diamond is a candidacy, a circle a granted vote, a cross a refused one.",
            *left_out_note(len(terms) - len(shown_terms), "term", "the plot shows the first ones"),
            *left_out_note(len(events) - len(shown_events), "election event", "the plot shows the first ones"),
        ],
    )


@attrs.frozen
class Gap:
    """A time without a leader, between two terms."""

    before: LeaderTerm
    after: LeaderTerm
    start_ms: int
    end_ms: int


def leaderless(report: ClusterReport) -> list[Gap]:
    """Return the times without a leader between two terms, as far as they are within the report."""
    led = [term for term in sorted(report.quorum.terms, key=attrgetter("epoch")) if term.leader is not None]
    gaps = [
        Gap(before, after, max(before.end_ms, report.start_ms), min(after.start_ms, report.end_ms))
        for before, after in pairwise(led)
        if before.end_ms is not None
    ]
    return [gap for gap in gaps if gap.start_ms < gap.end_ms]


def _shown(report: ClusterReport, term: LeaderTerm) -> bool:
    if term.leader is None:
        return report.start_ms <= term.start_ms <= report.end_ms
    return within(report, term) is not None


def _events(report: ClusterReport) -> list[Candidacy | VoteCast]:
    events: list[Candidacy | VoteCast] = []
    for election in report.quorum.elections:
        events += election.candidacies
        events += election.votes
    return sorted((event for event in events if report.start_ms <= event.ms <= report.end_ms), key=attrgetter("ms"))


def _sentences(report: ClusterReport, marks: Marks, terms: Sequence[LeaderTerm]) -> list[str]:
    led = [term for term in terms if term.leader is not None]
    if not led:
        return ["Nodes stood for election, and nobody won."]
    order = [led[0].leader, *(after.leader for before, after in pairwise(led) if after.leader != before.leader)]
    sentences = [
        f"Node {order[0]} led the quorum all the time that is known."
        if len(led) == 1
        else f"The quorum had {count(len(led), 'leader term')}: "
        + (f"node {', then node '.join(map(str, order))}." if len(order) <= 8 else f"of {len(set(order))} nodes.")
    ]
    gaps = leaderless(report)
    if gaps:
        longest = max(gaps, key=lambda gap: gap.end_ms - gap.start_ms)
        occasion = marks.occasion(longest.start_ms, longest.before.leader)
        when = f" when {occasion.text}" if occasion is not None else ""
        until = f"until node {longest.after.leader} won epoch {longest.after.epoch}"
        sentences.append(f"Nobody led it for {duration(longest.end_ms - longest.start_ms)}{when}, {until}.")
    if len(gaps) > 1:
        whole = duration(sum(gap.end_ms - gap.start_ms for gap in gaps))
        sentences.append(f"It was without a leader {len(gaps)} times, {whole} in all.")
    lost = [term for term in terms if term.leader is None]
    if lost:
        sentences.append(f"{count(len(lost), 'epoch')} had no leader: {clean(lost[0].why_ended or 'nobody won')}.")
    return sentences


def _figure(
    report: ClusterReport,
    palette: Palette,
    marks: Marks,
    terms: Sequence[LeaderTerm],
    events: Sequence[Candidacy | VoteCast],
) -> Figure:
    nodes = sorted(
        {term.leader for term in terms if term.leader is not None}
        | {event.node if isinstance(event, Candidacy) else event.voter for event in events}
    )
    row = {node: place for place, node in enumerate(nodes, 1)}
    labels = ["nobody", *(f"node {node}" for node in nodes)]
    traces = [
        *bar_traces(_bars(report, palette, terms, row)),
        *point_traces(_points(palette, events, row)),
    ]
    return timeline(report, marks, traces, rows_axis(labels), ROW_PX * len(labels))


def _bars(report: ClusterReport, palette: Palette, terms: Sequence[LeaderTerm], row: dict[int, int]) -> Iterator[Bar]:
    for term in terms:
        span = within(report, term)
        if term.leader is not None and span is not None:
            until = clean(term.why_ended or "still leads, as far as is known", 300)
            text = hover(
                f"node {term.leader} led epoch {term.epoch}",
                f"from {timestamp(term.start_ms)}, {_led_for(term)}",
                until,
            )
            yield Bar(row[term.leader], *span, palette[term.leader], text, f"epoch {term.epoch}")
        elif term.leader is None:
            text = hover(f"nobody led epoch {term.epoch}", clock(term.start_ms), clean(term.why_ended or "", 300))
            yield Bar(_NOBODY_ROW, term.start_ms, term.start_ms, NOBODY, text)
    for gap in leaderless(report):
        text = hover(f"nobody led for {duration(gap.end_ms - gap.start_ms)}", f"before epoch {gap.after.epoch} began")
        yield Bar(_NOBODY_ROW, gap.start_ms, gap.end_ms, NOBODY, text)


def _points(palette: Palette, events: Sequence[Candidacy | VoteCast], row: dict[int, int]) -> Iterator[Point]:
    for event in events:
        if isinstance(event, Candidacy):
            kind = "asks for pre-votes" if event.pre_vote else "stands for election"
            symbol = "diamond-open" if event.pre_vote else "diamond"
            title = f"node {event.node} {kind} in epoch {event.epoch}"
            text = hover(title, clock(event.ms), clean(event.reason, 300))
            yield Point(row[event.node], event.ms, kind, symbol, palette[event.node], text)
        else:
            kind = ("pre-vote " if event.pre_vote else "vote ") + ("granted" if event.granted else "refused")
            title = f"node {event.voter}: {kind} to node {event.candidate} for epoch {event.epoch}"
            text = hover(title, clock(event.ms), clean(event.reason, 300))
            symbol = "circle" if event.granted else "x-thin-open"
            yield Point(row[event.voter], event.ms, kind, symbol, palette[event.candidate], text)


def _led_for(term: LeaderTerm) -> str:
    if term.end_ms is None:
        return "to the end"
    return f"for {'at most ' if term.at_most else ''}{duration(term.end_ms - term.start_ms)}"


def _rows(terms: Sequence[LeaderTerm]) -> Iterator[tuple[object, ...]]:
    for term in terms:
        leader = "nobody" if term.leader is None else f"node {term.leader}"
        led_for = "" if term.leader is None else _led_for(term)
        why = clean(term.why_ended or "still leads, as far as is known", 300)
        yield term.epoch, leader, timestamp(term.start_ms), led_for, why
