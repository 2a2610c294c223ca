"""The partitions that a request names: one answer for each, in slices, the error of one whose log cannot be read, and
those that changed while the request waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs
import trio

from kraft.records.batch import CorruptBatch
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.replicas")

ReadFailure = KafkaError | CorruptBatch | OSError
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
Key = TypeVar("Key")


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


def refusal_of(failure: ReadFailure, name: str) -> KafkaError:
    """Return the error of a partition whose log cannot be read. Log a line if its disk is the cause."""
    if isinstance(failure, KafkaError):
        return failure
    if isinstance(failure, CorruptBatch):
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, str(failure))
    logger.error("%s: cannot read the log: %s", name, failure)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)


@attrs.define(eq=False)
class ChangedPartitions(Generic[Key]):
    """The partitions of a parked request that changed since they were counted, by a key of the request."""

    _changed: set[Key] = attrs.Factory(set)
    _woken: trio.Event = attrs.Factory(trio.Event)

    def add(self, key: Key) -> None:
        self._changed.add(key)
        self._woken.set()

    async def next(self) -> Key:
        """Wait for a change, and return its partition."""
        if not self._changed:
            self._woken = trio.Event()
            await self._woken.wait()
        return self._changed.pop()


@attrs.frozen(eq=False)
class PartitionWatcher(Generic[Key]):
    """Wakes a parked request, and names the partition that changed."""

    changes: ChangedPartitions[Key]
    key: Key

    def set(self) -> None:
        self.changes.add(self.key)
