"""Long work in steps, so that a driver may let other tasks run in between.

A generator yields the cost of each step: the number of records that it has decided, encoded or replayed, or the number
that would be as much work (some 10 µs each). Its result is the same with and without pauses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable
from heapq import merge
from itertools import islice
from typing import Any, TypeVar, cast

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
C = TypeVar("C", bound=tuple[Any, ...] | str)
Steps = Generator[int, None, T]

#: The items that are sorted in a step, and its cost.
_AT_ONCE, _COST = 1000, 100
#: The items that are hashed in a step, and its cost. Each may be a string of 32,767 bytes.
_HASHED_AT_ONCE, _HASHING_COST = 100, 10


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
    while some := tuple(islice(rest, _HASHED_AT_ONCE)):
        times.update(some)
        yield _HASHING_COST
    return times


def distinct(items: Iterable[T], key: Callable[[T], H]) -> Steps[dict[H, T]]:
    """Return the last item of each key, in the order of the keys' first items."""
    rest = iter(items)
    found: dict[H, T] = {}
    while some := tuple(islice(rest, _HASHED_AT_ONCE)):
        found.update((key(each), each) for each in some)
        yield _HASHING_COST
    return found


def in_order(items: Iterable[C]) -> Steps[Iterable[C]]:
    """Sort parts of the items. The parts are merged as the caller iterates."""
    rest = iter(items)
    parts: list[list[C]] = []
    while some := sorted(islice(rest, _AT_ONCE)):
        parts.append(some)
        yield _COST
    return merge(*parts)
