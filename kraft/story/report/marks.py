"""Events of note, which stand as lettered vertical marks in all timelines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter

import attrs

from kraft.story.report.model import BrokerPeriod, BrokerState, ClusterReport
from kraft.story.report.words import clean

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The time before and after the begin of an outage in which a mark counts as its occasion.
_NEAR_MS = 1_000
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


@attrs.frozen
class Marks:
    """The marks in order of time, and the number of events for which no letter was left."""

    marks: tuple[Mark, ...]
    left_out: int

    def near(self, ms: int) -> Mark | None:
        """Return the mark next to ``ms``. None if there is none within a second."""
        closest = min(self.marks, key=lambda mark: abs(mark.ms - ms), default=None)
        return closest if closest is not None and abs(closest.ms - ms) <= _NEAR_MS else None


def marks_of(report: ClusterReport) -> Marks:
    """Return the report's own events, the changes of the active controller and those of the brokers' states.

    There are as many marks as letters. Of more events, those of the most important kinds are kept, the earliest first.
    """
    events = [(rank, ms, text) for rank, ms, text in _events(report) if report.start_ms <= ms <= report.end_ms]
    kept = sorted(sorted(events)[: len(LETTERS)], key=lambda event: event[1])
    marks = tuple(Mark(letter, ms, text) for letter, (_, ms, text) in zip(LETTERS, kept, strict=False))
    return Marks(marks, len(events) - len(kept))


def _events(report: ClusterReport) -> Iterator[tuple[int, int, str]]:
    for event in report.events:
        yield 0, event.ms, clean(event.text)
    for term in report.quorum.terms:
        if term.leader is not None:
            yield 1, term.start_ms, f"node {term.leader} became active controller (epoch {term.epoch})"
    periods: dict[int, list[BrokerPeriod]] = {}
    for period in report.brokers:
        periods.setdefault(period.broker, []).append(period)
    for broker, of_broker in periods.items():
        for before, after in pairwise(sorted(of_broker, key=attrgetter("start_ms"))):
            if after.state in _BROKER_EVENTS and after.state is not before.state:
                rank, text = _BROKER_EVENTS[after.state]
                yield rank, after.start_ms, text.format(broker)
