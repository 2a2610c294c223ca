"""Events of note, which stand as lettered vertical marks in all timelines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter

import attrs

from kraft.story.report.model import BrokerPeriod, BrokerState, ClusterReport, NotableEvent
from kraft.story.report.words import clean

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: A disruptive event is the occasion of an outage that begins so much later, or earlier by another clock.
_LATER_MS, _EARLIER_MS = 1_000, 300
_BROKER_EVENTS = {
    BrokerState.FENCED: (2, "broker {} was fenced"),
    BrokerState.CONTROLLED_SHUTDOWN: (3, "broker {} began a controlled shutdown"),
    BrokerState.UNFENCED: (4, "broker {} was unfenced"),
}


@attrs.frozen
class Mark:
    """An event with its letter."""

    letter: str
    ms: int
    text: str
    node: int | None
    disruptive: bool


@attrs.frozen
class Marks:
    """The marks in order of time, and the number of events for which no letter was left."""

    marks: tuple[Mark, ...]
    left_out: int

    def occasion(self, ms: int, node: int | None) -> Mark | None:
        """Return the event that explains why ``node`` led no more from ``ms`` on. None if there is none."""
        found = (
            mark
            for mark in self.marks
            if mark.disruptive and mark.node in (None, node) and -_LATER_MS <= mark.ms - ms <= _EARLIER_MS
        )
        return min(found, key=lambda mark: abs(mark.ms - ms), default=None)


def marks_of(report: ClusterReport) -> Marks:
    """Return the report's own events, the changes of the active controller and those of the brokers' states.

    There are as many marks as letters. Of more events, those of the most important kinds are kept, the earliest first.
    """
    events = [(rank, event) for rank, event in _events(report) if report.start_ms <= event.ms <= report.end_ms]
    events.sort(key=lambda each: (each[0], each[1].ms))
    kept = sorted((event for _, event in events[: len(LETTERS)]), key=attrgetter("ms"))
    marks = tuple(
        Mark(letter, event.ms, event.text, event.node, event.disruptive)
        for letter, event in zip(LETTERS, kept, strict=False)
    )
    return Marks(marks, len(events) - len(kept))


def _events(report: ClusterReport) -> Iterator[tuple[int, NotableEvent]]:
    """Yield the events with the rank of their kinds."""
    for event in report.events:
        yield 0, attrs.evolve(event, text=clean(event.text))
    for term in report.quorum.terms:
        if term.leader is not None:
            text = f"node {term.leader} became active controller (epoch {term.epoch})"
            yield 1, NotableEvent(term.start_ms, text, term.leader, disruptive=False)
    periods: dict[int, list[BrokerPeriod]] = {}
    for period in report.brokers:
        periods.setdefault(period.broker, []).append(period)
    for broker, of_broker in periods.items():
        for before, after in pairwise(sorted(of_broker, key=attrgetter("start_ms"))):
            if after.state in _BROKER_EVENTS and after.state is not before.state:
                rank, text = _BROKER_EVENTS[after.state]
                disruptive = after.state is not BrokerState.UNFENCED
                yield rank, NotableEvent(after.start_ms, text.format(broker), broker, disruptive)
