"""The five kinds of metric: gauge, counter, meter, histogram, idle meter.

Rules: an update is attribute arithmetic (no lock, no clock, no allocation that lasts), because it happens on every
request; a node has one thread that updates. A clock is a callable that returns seconds and is asked only when somebody
reads. Every metric has a ``value``, the one number that stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate

Clock = Callable[[], float]

_MINUTE_S = 60.0
_SHORTEST_WINDOW_S = 1.0
_EXACT_BELOW = 16
_BUCKETS = 384
"""Up to 2**49: nineteen years in microseconds."""


class Gauge:
    """A value that is computed when it is read."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read

    @property
    def value(self) -> float:
        return self._read()


class Counter:
    """A number that the owner sets by ``counter.count += n``; it may go down (a number of open connections)."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    @property
    def value(self) -> float:
        return self.count


class Meter:
    """Events: how many there were (``meter.count += n``) and how many there are per second."""

    __slots__ = ("_clock", "_one_minute_rate", "_read_at", "_read_count", "_started_at", "count")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.count = 0
        self._started_at = clock()
        self._read_at = self._started_at
        self._read_count = 0
        self._one_minute_rate = 0.0

    @property
    def value(self) -> float:
        return self.count

    @property
    def mean_rate(self) -> float:
        """Events per second since the meter was made."""
        elapsed_s = self._clock() - self._started_at
        return self.count / elapsed_s if elapsed_s > 0 else 0.0

    @property
    def one_minute_rate(self) -> float:
        """Events per second, where an event counts for less the longer ago it was (a minute: 1/e)."""
        now = self._clock()
        elapsed_s = now - self._read_at
        if elapsed_s >= _SHORTEST_WINDOW_S:
            rate = (self.count - self._read_count) / elapsed_s
            weight = 1.0 - math.exp(-elapsed_s / _MINUTE_S)
            first = self._read_at == self._started_at
            self._one_minute_rate = rate if first else self._one_minute_rate + weight * (rate - self._one_minute_rate)
            self._read_at, self._read_count = now, self.count
        return self._one_minute_rate


class Histogram:
    """A distribution of non-negative whole numbers in exponential buckets, eight to a doubling: a percentile is
    within 12.5 %.

    ``scale`` is what one recorded unit is worth to the reader: times are recorded in microseconds and read in
    milliseconds (scale 0.001). The distribution is the one since the start; unlike Kafka's sampled reservoir it
    forgets nothing.
    """

    __slots__ = ("_buckets", "count", "largest", "scale", "total")

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.count = 0
        self.total = 0
        self.largest = 0
        self._buckets = [0] * _BUCKETS

    def record(self, value: int) -> None:
        """Count one value; a negative one (a clock that stepped) counts as 0."""
        if value >= _EXACT_BELOW:
            # The four highest bits, and how many are below them.
            shift = value.bit_length() - 4
            index = (shift << 3) + (value >> shift)
            if index >= _BUCKETS:
                index = _BUCKETS - 1
        else:
            index = value = value if value > 0 else 0
        self._buckets[index] += 1
        self.count += 1
        self.total += value
        if value > self.largest:
            self.largest = value

    @property
    def value(self) -> float:
        """How many values there were."""
        return self.count

    @property
    def mean(self) -> float:
        return self.total / self.count * self.scale if self.count else 0.0

    @property
    def maximum(self) -> float:
        return self.largest * self.scale

    def percentile(self, fraction: float) -> float:
        """The value that ``fraction`` (0 to 1) of all values do not exceed: the upper end of its bucket, never above
        the maximum.
        """
        if not self.count:
            return 0.0
        wanted = max(1, math.ceil(fraction * self.count))
        index = next(index for index, seen in enumerate(accumulate(self._buckets)) if seen >= wanted)
        return min(_upper_end(index), self.largest) * self.scale


def _upper_end(index: int) -> int:
    """The largest value in a bucket."""
    if index < _EXACT_BELOW:
        return index
    return (((index & 7) + 9) << (index >> 3) - 1) - 1


class IdleMeter:
    """The share of time (0 to 1) in which ``workers`` workers had nothing to do. A worker adds its seconds at work to
    ``busy_s``.

    The share is the one since the previous reading; readings closer than a second to each other see the same number.
    """

    __slots__ = ("_clock", "_idle", "_read_at", "_read_busy_s", "busy_s", "workers")

    def __init__(self, clock: Clock, workers: int = 1) -> None:
        self._clock = clock
        self.workers = workers
        self.busy_s = 0.0
        self._read_at = clock()
        self._read_busy_s = 0.0
        self._idle = 1.0

    @property
    def value(self) -> float:
        now = self._clock()
        available_s = (now - self._read_at) * self.workers
        if now - self._read_at >= _SHORTEST_WINDOW_S and available_s > 0:
            busy = (self.busy_s - self._read_busy_s) / available_s
            self._idle = min(1.0, max(0.0, 1.0 - busy))
            self._read_at, self._read_busy_s = now, self.busy_s
        return self._idle
