"""Instruments: counting, and reading the counts."""

from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.metrics import Gauge, Histogram, IdleMeter


@attrs.define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.integers(0, 2**40), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_within_an_eighth_of_the_true_one(values: list[int], fraction: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    true = sorted(values)[max(1, math.ceil(fraction * len(values))) - 1]
    assert true <= histogram.percentile(fraction) <= true * 1.125
    assert histogram.count == len(values)
    assert histogram.mean == pytest.approx(sum(values) / len(values))
    assert histogram.maximum == max(values)


@given(st.lists(st.lists(st.integers(-10, 10_000) | st.integers(0, 2**60), min_size=1)))
def test_values_that_are_recorded_together_count_as_single_ones(batches: list[list[int]]) -> None:
    together, single = Histogram(), Histogram()
    for values in batches:
        together.record_all(values)
        for value in values:
            single.record(value)
    fractions = (0.01, 0.5, 0.75, 0.95, 0.99, 1.0)
    assert together.percentiles(fractions) == single.percentiles(fractions)
    assert (together.count, together.total, together.largest) == (single.count, single.total, single.largest)


def test_a_histogram_takes_any_number() -> None:
    histogram = Histogram(scale=0.001)
    assert (histogram.mean, histogram.percentile(0.5)) == (0.0, 0.0)
    histogram.record(-5)
    assert histogram.percentile(1.0) == 0.0
    histogram.record(2**80)
    assert histogram.percentile(1.0) <= histogram.maximum == 2**80 * 0.001


def test_an_idle_meter_is_the_share_since_the_last_reading() -> None:
    clock = Clock()
    meter = IdleMeter(clock, workers=2)
    assert meter.value == 1.0
    meter.busy_s += 5.0
    clock.now += 10
    assert meter.value == 0.75
    clock.now += 0.5
    assert meter.value == 0.75
    meter.busy_s += 1000
    clock.now += 1
    assert meter.value == 0.0


def test_a_gauge_is_read() -> None:
    values = [1.0, 2.0]
    gauge = Gauge(lambda: values.pop(0))
    assert (gauge.value, gauge.value) == (1.0, 2.0)
