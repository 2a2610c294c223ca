"""The elements of a large response, one for each element of its request.

A request may have 100,000 elements, and an error response has one for each of them. In one step that would take a
tenth of a second and more. So the encoder makes them, which encodes a large response in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar, cast

import attrs

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE: Final = 30
"""Not a Kafka setting. So many elements are made at once. Each may have as many elements of its own: 900 take about a
millisecond.
"""


def mapped(items: Sequence[S], make: Callable[[S], T]) -> list[T]:
    """Return ``make(item)`` for each item. A long list has a length, and makes its elements when it is iterated."""
    if len(items) <= AT_ONCE:
        return [make(item) for item in items]
    return cast(list[T], Made(items, make))


@attrs.frozen(eq=False)
class Made(Generic[S, T]):
    """The list of :func:`mapped`. Its elements are new ones at each iteration."""

    items: Sequence[S]
    make: Callable[[S], T]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return map(self.make, self.items)
