"""Average, maximum and rate over the last half minute to minute, sampled as Kafka does.

A window has two samples of ``sample_s`` seconds (``metrics.sample.window.ms``, ``metrics.num.samples``): the current
one and the previous one. Unlike a Histogram it forgets, so a slow minute does not affect later readings.
"""

from __future__ import annotations

import math

from kraft.metrics.instruments import Clock

SAMPLE_S = 30.0


class _Sample:
    __slots__ = ("count", "largest", "started_at", "total")

    def __init__(self, started_at: float) -> None:
        self.started_at = started_at
        self.count = 0
        self.total = 0.0
        self.largest = -math.inf


class Window:
    """Values recorded in the last two samples. ``clock`` returns seconds and never goes back."""

    __slots__ = ("_clock", "_former", "_now", "_sample_s")

    def __init__(self, clock: Clock, sample_s: float = SAMPLE_S) -> None:
        self._clock = clock
        self._sample_s = sample_s
        self._now = self._former = _Sample(clock())

    def record(self, value: float) -> None:
        """Record one value, or a number of events."""
        self._move()
        sample = self._now
        sample.count += 1
        sample.total += value
        sample.largest = max(sample.largest, value)

    @property
    def average(self) -> float:
        """The average of the values; NaN if there are none."""
        samples = self._samples()
        count = sum(sample.count for sample in samples)
        return sum(sample.total for sample in samples) / count if count else math.nan

    @property
    def maximum(self) -> float:
        """The largest value; NaN if there are none."""
        largest = max(sample.largest for sample in self._samples())
        return largest if largest > -math.inf else math.nan

    @property
    def rate(self) -> float:
        """The sum of the values per second. A window that has just begun counts as a whole sample."""
        samples = self._samples()
        elapsed_s = max(self._clock() - samples[0].started_at, self._sample_s)
        return sum(sample.total for sample in samples) / elapsed_s

    def _samples(self) -> list[_Sample]:
        """Return the previous sample and the current one, or the current one alone."""
        self._move()
        return [self._now] if self._former is self._now else [self._former, self._now]

    def _move(self) -> None:
        """Begin a new sample if the current one is full. Drop both if they are too old."""
        now = self._clock()
        age_s = now - self._now.started_at
        if age_s >= 2 * self._sample_s:
            self._former = self._now = _Sample(now)
        elif age_s >= self._sample_s:
            self._former, self._now = self._now, _Sample(self._now.started_at + self._sample_s)
