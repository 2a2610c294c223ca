"""The changes of the metadata by client, and the rows that could not be decoded."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

from kraft.story.report.figure import ROW_PX, Point, hover, point_traces, rows_axis, timeline
from kraft.story.report.marks import Marks
from kraft.story.report.model import Change, ClusterReport
from kraft.story.report.palette import Look
from kraft.story.report.section import FigureTable, Section, left_out_note
from kraft.story.report.words import clean, clock, count, listed, timestamp

TITLE = "Who changed what"
MAX_PEOPLE = 15
MAX_CHANGES = 2_000
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "cross", "pentagon", "hexagram")
_LOOK = Look("change", "var(--accent)")


def section(report: ClusterReport, marks: Marks) -> Section:
    changes = sorted(
        (change for change in report.changes if report.start_ms <= change.ms <= report.end_ms), key=attrgetter("ms")
    )
    if not changes:
        return Section("changes", TITLE, ["No change of a topic or configuration is known in this time."])
    by_person = Counter(change.who for change in changes)
    people = [who for who, _ in by_person.most_common(MAX_PEOPLE)]
    shown = [change for change in changes if change.who in people][:MAX_CHANGES]
    points = _points(shown, {who: row for row, who in enumerate(people)})
    said = listed(f"{clean(who, 60)} made {count(by_person[who], 'change')}" for who in people[:4])
    return Section(
        "changes",
        TITLE,
        [f"{said}."],
        [timeline(report, marks, point_traces(points), rows_axis(people), ROW_PX * max(len(people), 2))],
        FigureTable.of(("time (UTC)", "who", "what", "of", "details"), map(_row, changes)),
        [
            *left_out_note(len(by_person) - len(people), "client", "the plot shows those with most changes"),
            *left_out_note(
                sum(by_person[who] for who in people) - len(shown), "change", "the plot shows the first ones"
            ),
        ],
    )


def _points(changes: list[Change], row: dict[str, int]) -> list[Point]:
    kinds = [what for what, _ in Counter(change.what for change in changes).most_common()]
    own = dict(zip(kinds, _SYMBOLS, strict=False))
    return [
        Point(
            row[change.who],
            change.ms,
            clean(change.what, 40) if change.what in own else "other changes",
            own.get(change.what, "asterisk-open"),
            _LOOK,
            hover(
                f"{clean(change.what, 60)} {clean(change.resource, 120)}",
                f"by {clean(change.who, 120)} at {clock(change.ms)}",
                clean(change.details, 300),
            ),
        )
        for change in changes
    ]


def _row(change: Change) -> tuple[str, ...]:
    return (
        timestamp(change.ms),
        clean(change.who),
        clean(change.what),
        clean(change.resource),
        clean(change.details, 300),
    )


def quarantine(report: ClusterReport) -> Section:
    """Return the section on rows that could not be decoded."""
    title = "Quarantined rows"
    rows = sorted(report.quarantined, key=lambda each: (-each.count, each.source, each.reason))
    total = sum(each.count for each in rows)
    if not total:
        return Section("quarantine", title, ["No row is in quarantine."])
    return Section(
        "quarantine",
        title,
        [f"{count(total, 'row')} could not be decoded. The quarantine table has their bytes."],
        (),
        FigureTable.of(
            ("source", "reason", "rows"),
            ((clean(each.source), clean(each.reason, 300), f"{each.count:,}") for each in rows),
        ),
    )
