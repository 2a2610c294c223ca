"""The stream of events: every listener gets them, and none is made without listeners."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.world.clock import Clock
from kraft.world.trace import Trace, TraceEvent


@attrs.frozen
class Started(TraceEvent):
    name: str


@attrs.frozen
class Ended(TraceEvent):
    name: str


@attrs.frozen
class Hours(Clock):
    """It is half past four, and stays so."""

    def now_s(self) -> float:
        return 4.5


@pytest.fixture
def trace() -> Trace:
    return Trace(Hours(), node_id=7)


def emit(trace: Trace, kind: type[Any], name: str) -> None:
    """As a room does it."""
    stream = trace.of(kind)
    if stream.listeners:
        stream.emit(kind(*stream.now(), name))


def test_a_listener_gets_events_of_its_kind_with_time_and_node(trace: Trace) -> None:
    heard: list[TraceEvent] = []
    trace.subscribe(Started, heard.append)
    emit(trace, Started, "a")
    emit(trace, Ended, "a")
    assert heard == [Started(4.5, 7, "a")]


@pytest.mark.parametrize("is_made_before", [True, False])
def test_a_listener_to_all_gets_kinds_that_are_declared_later(trace: Trace, is_made_before: bool) -> None:
    heard: list[TraceEvent] = []
    if is_made_before:
        trace.of(Started)
    trace.subscribe(TraceEvent, heard.append)
    emit(trace, Started, "a")
    emit(trace, Ended, "a")
    assert heard == [Started(4.5, 7, "a"), Ended(4.5, 7, "a")]


def test_listeners_run_in_the_order_of_their_subscriptions(trace: Trace) -> None:
    heard: list[str] = []
    trace.subscribe(Started, lambda event: heard.append("first"))
    trace.subscribe(TraceEvent, lambda event: heard.append("second"))
    trace.subscribe(Started, lambda event: heard.append("third"))
    emit(trace, Started, "a")
    assert heard == ["first", "second", "third"]


def test_an_unsubscribed_listener_gets_no_event_and_others_do(trace: Trace) -> None:
    heard: list[TraceEvent] = []
    others: list[TraceEvent] = []
    trace.subscribe(Started, heard.append)
    trace.subscribe(Started, others.append)
    trace.unsubscribe(Started, heard.append)
    emit(trace, Started, "a")
    assert (heard, others) == ([], [Started(4.5, 7, "a")])
    with pytest.raises(ValueError, match="not in list"):
        trace.unsubscribe(Started, heard.append)


def test_no_event_is_made_without_listeners(trace: Trace) -> None:
    """It costs one attribute check."""
    stream = trace.of(Started)
    assert not stream.listeners
    trace.subscribe(Ended, lambda event: None)
    assert not stream.listeners, "nor for those who listen to something else"
    trace.subscribe(Started, print)
    trace.unsubscribe(Started, print)
    assert not stream.listeners
