"""One answer for each partition that a request names, in slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kraft.world.slices import Slices


class _Topic(Protocol):
    @property
    def partitions(self) -> Sequence[Any]: ...


Topic = TypeVar("Topic", bound=_Topic)
Answer = TypeVar("Answer")
Result = TypeVar("Result")


async def answered(
    topics: Sequence[Topic],
    result: Callable[[Topic, list[Answer]], Result],
    answer: Callable[[Topic, Any], Answer],
    *,
    every: int,
) -> list[Result]:
    """Return ``result(topic, answers)`` for each topic, with ``answer(topic, partition)`` for each of its partitions.

    Other tasks run after each ``every`` partitions.
    """
    slices = Slices(every)
    results = []
    for topic in topics:
        answers = []
        for partition in topic.partitions:
            answers.append(answer(topic, partition))
            await slices.spend()
        results.append(result(topic, answers))
        await slices.spend()
    return results
