"""The five kinds of metric: gauge, counter, meter, histogram, idle meter.

Rules: an update takes no lock and reads no clock, and the memory of a metric does not grow with its updates: they
happen on every request. One thread of a node updates the metrics. A clock is a callable that returns seconds; only a
reader calls it. Every metric has a ``value``: the one number that a plain reader shows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Callable, Sequence
from itertools import accumulate

Clock = Callable[[], float]

_SHORTEST_WINDOW_S = 1.0
_EXACT_BELOW = 16
_BUCKETS = 384
"""Values up to 2**49: nineteen years in microseconds."""


class Gauge:
    """A value that is computed on each read."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read

    @property
    def value(self) -> float:
        return self._read()


class Counter:
    """A number that its owner changes by ``counter.count += n``. It may fall, such as a number of connections."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    @property
    def value(self) -> float:
        return self.count


class Meter:
    """A number of events (``meter.count += n``). It only rises, and a reader computes its rate."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    @property
    def value(self) -> float:
        return self.count


class Histogram:
    """A distribution of non-negative integers in exponential buckets, eight per doubling.

    So a percentile is exact to 12.5 %.

    ``scale`` converts a recorded unit to the reader's unit: times are recorded in microseconds and read in milliseconds
    (scale 0.001). The distribution covers the time since the start. Kafka's reservoir samples; this one counts every
    value.
    """

    __slots__ = ("_buckets", "largest", "scale", "total")

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.total = 0
        self.largest = 0
        self._buckets: Counts[int] = Counts()

    def record(self, value: int) -> None:
        """Record one value. A negative one, from a clock that was set back, counts as 0."""
        self.record_all((value,))

    def record_all(self, values: Sequence[int]) -> None:
        """Record some values, at least one, as :meth:`record` does. Each of many takes a tenth of the time."""
        largest = max(values)
        if min(values) < 0:
            values = [max(0, value) for value in values]
        self._buckets.update(map(_SMALL.__getitem__ if largest < _SMALL_BELOW else _bucket, values))
        self.total += sum(values)
        self.largest = max(self.largest, largest)

    @property
    def count(self) -> int:
        """The number of recorded values."""
        return self._buckets.total()

    @property
    def value(self) -> float:
        return self.count

    @property
    def mean(self) -> float:
        count = self.count
        return self.total / count * self.scale if count else 0.0

    @property
    def maximum(self) -> float:
        return self.largest * self.scale

    def percentile(self, fraction: float) -> float:
        """Return the percentile for ``fraction`` (0 to 1): the upper end of its bucket, at most the maximum."""
        return self.percentiles((fraction,))[0]

    def percentiles(self, fractions: Sequence[float]) -> list[float]:
        """Return :meth:`percentile` for each of ``fractions``."""
        used = sorted(self._buckets)
        if not used:
            return [0.0] * len(fractions)
        seen = list(accumulate(map(self._buckets.__getitem__, used)))
        indexes = (used[bisect_left(seen, max(1, math.ceil(fraction * seen[-1])))] for fraction in fractions)
        return [min(_upper_end(index), self.largest) * self.scale for index in indexes]


def _bucket(value: int) -> int:
    """Return the index of the bucket for a value of 0 or more."""
    if value < _EXACT_BELOW:
        return value
    # The four highest bits, and the number of bits below them.
    shift = value.bit_length() - 4
    return min((shift << 3) + (value >> shift), _BUCKETS - 1)


_SMALL_BELOW = 4096
_SMALL = bytes(map(_bucket, range(_SMALL_BELOW)))
"""The buckets of small values. Most times of a request are some milliseconds at most, and a table is faster."""


def _upper_end(index: int) -> int:
    """Return the largest value of a bucket."""
    if index < _EXACT_BELOW:
        return index
    return (((index & 7) + 9) << (index >> 3) - 1) - 1


class IdleMeter:
    """The share of time (0 to 1) in which ``workers`` workers were idle. Workers add their busy seconds to ``busy_s``.

    A reading covers the time since the previous one. Readings within a second of each other return the same number.
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
