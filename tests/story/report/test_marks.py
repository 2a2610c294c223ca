"""The events of note, which stand as marks in all timelines."""

from __future__ import annotations

import attrs

from kraft.story.report.marks import LETTERS, marks_of
from kraft.story.report.model import BrokerPeriod, BrokerState, ClusterReport, NotableEvent
from tests.support.report_stories import BROKER_KILLED_MS, START_MS, two_kills


def test_kills_fencing_and_changes_of_the_controller_are_marked_in_order() -> None:
    assert [(mark.letter, mark.text) for mark in marks_of(two_kills()).marks] == [
        ("A", "broker 2 was killed"),
        ("B", "broker 2 was fenced"),
        ("C", "node 1, the active controller, was killed"),
        ("D", "node 3 became active controller (epoch 6)"),
        ("E", "broker 1 was fenced"),
        ("F", "broker 2 was unfenced"),
    ]


def test_the_first_state_of_a_broker_is_no_event() -> None:
    """The report may begin in the middle of a broker's life."""
    report = ClusterReport("c", 0, 100, brokers=[BrokerPeriod(1, BrokerState.FENCED, 10, 90)])
    assert not marks_of(report).marks


def test_of_too_many_events_the_important_ones_are_kept() -> None:
    flapping = [
        BrokerPeriod(1, (BrokerState.FENCED, BrokerState.UNFENCED)[number % 2], number, number + 1)
        for number in range(100)
    ]
    killed = NotableEvent(99, "broker 1 was killed")
    marks = marks_of(ClusterReport("c", 0, 100, brokers=flapping, events=[killed]))
    assert len(marks.marks) == len(LETTERS)
    assert marks.left_out == 100 - len(LETTERS)
    assert marks.marks[-1].text == "broker 1 was killed"
    assert {mark.text for mark in marks.marks[:-1]} == {"broker 1 was fenced"}


def test_events_outside_of_the_report_are_no_marks() -> None:
    report = attrs.evolve(two_kills(), start_ms=BROKER_KILLED_MS + 1)
    assert marks_of(report).marks[0].text == "broker 2 was fenced"


def test_a_disruptive_event_of_the_leader_is_the_occasion_of_an_outage() -> None:
    marks = marks_of(two_kills())
    occasion = marks.occasion(BROKER_KILLED_MS + 999, 2)
    assert occasion is not None
    assert occasion.text == "broker 2 was killed"
    assert marks.occasion(BROKER_KILLED_MS + 999, 3) is None
    assert marks.occasion(START_MS, 2) is None


def test_the_start_of_a_node_is_no_occasion() -> None:
    """A real page once said that nobody led "when node 2 started again", a second before another node was killed."""
    started = NotableEvent(10, "node 1 started again", 1, disruptive=False)
    marks = marks_of(ClusterReport("c", 0, 100, events=[started]))
    assert marks.marks
    assert marks.occasion(10, 1) is None
