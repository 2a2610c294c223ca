"""Long work in steps, so that a driver may let other tasks run in between.

A generator yields the cost of each step: the number of records that it has decided, encoded or replayed, or the number
that would be as much work (some 10 µs each). Its result is the same with and without pauses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Hashable, Iterable
from itertools import islice
from typing import TypeVar, cast

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
Steps = Generator[int, None, T]

_COUNTED_AT_ONCE = 1000
_COST_OF_COUNTING = 20


def finished(work: Steps[T]) -> T:
    """Run all steps at once, and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast(T, end.value)


def counted(items: Iterable[H]) -> Steps[Counter[H]]:
    """Count equal items: a request may name a thing more than once."""
    rest = iter(items)
    times: Counter[H] = Counter()
    while some := tuple(islice(rest, _COUNTED_AT_ONCE)):
        times.update(some)
        yield _COST_OF_COUNTING
    return times
