"""One answer for each partition that a request names, in slices, and the error of one whose log cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kraft.records.batch import CorruptBatch
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.replicas")

READ_FAILURES = (KafkaError, CorruptBatch, OSError)
"""The errors of a read of a partition's log. They concern this partition alone (``ReplicaManager.readFromLog``)."""
MAX_COPIED_BYTES = 1 << 16
"""Not a Kafka setting. The most bytes of records in a response that may hold no file, unless its first batch is larger.
Responses that their readers do not take may hold all files, and must not stop other readers.
"""


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


def refusal_of(failure: KafkaError | CorruptBatch | OSError, name: str) -> KafkaError:
    """Return the error of a partition whose log cannot be read. Log a line if its disk is the cause."""
    if isinstance(failure, KafkaError):
        return failure
    if isinstance(failure, CorruptBatch):
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, str(failure))
    logger.error("%s: cannot read the log: %s", name, failure)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
