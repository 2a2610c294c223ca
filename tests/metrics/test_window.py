"""A window has the recent values and drops the older ones."""

from __future__ import annotations

import math

import attrs
from hypothesis import given
from hypothesis import strategies as st

from kraft.metrics.window import Window


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_lately_is_not_a_number() -> None:
    window = Window(Clock())
    assert math.isnan(window.average)
    assert math.isnan(window.maximum)
    assert window.rate == 0.0


def test_average_maximum_and_rate() -> None:
    clock = Clock()
    window = Window(clock, sample_s=10)
    window.record(2)
    clock.now += 10
    window.record(4)
    clock.now += 5
    assert (window.average, window.maximum, window.rate) == (3.0, 4.0, 6 / 15)


def test_a_value_is_forgotten_after_two_samples() -> None:
    clock = Clock()
    window = Window(clock, sample_s=10)
    window.record(9)
    clock.now += 19
    assert window.maximum == 9
    clock.now += 1
    window.record(1)
    assert window.maximum == 1


def test_a_first_event_does_not_count_as_a_burst() -> None:
    clock = Clock()
    window = Window(clock, sample_s=10)
    window.record(5)
    clock.now += 0.001
    assert window.rate == 0.5


@given(st.lists(st.tuples(st.floats(0, 15), st.integers(0, 100)), min_size=1))
def test_everything_within_one_sample_is_seen_and_nothing_older_than_two(steps: list[tuple[float, int]]) -> None:
    clock = Clock()
    window = Window(clock, sample_s=10)
    recorded = []
    for pause, value in steps:
        clock.now += pause
        window.record(value)
        recorded.append((clock.now, value))
    fresh = [value for at, value in recorded if clock.now - at < 10]
    possible = [value for at, value in recorded if clock.now - at < 20]
    assert max(fresh) <= window.maximum <= max(possible)
