"""The partitions of each broker, and those that need attention, found without a scan of all partitions.

The index is a part of the image, so a new active controller has it at once. It maps a key (a broker, or one of the
conditions below) to topics, and a topic to the numbers of its partitions as bits of an int: one bit for each replica in
sync, where a set would take sixty bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from immutables import Map

from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.metadata.steps import Steps

#: Keys that are no broker: partitions without a leader, with a leader that is not preferred, and under reassignment.
LEADERLESS = -1
NOT_PREFERRED = -2
REASSIGNED = -3

#: The key of a broker holds the partitions in whose ISR it is.
Index = Map[int, Map[UUID, int]]

_NOTHING: Map[Any, Any] = Map()
#: The positions of the set bits of each byte.
_BITS = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
_SMALL = 2048
#: The partitions of a step, and its cost.
_AT_ONCE, _COST = 256, 64


def partitions_in(mask: int) -> Iterator[int]:
    """The numbers of the set bits, lowest first."""
    for position, byte in enumerate(mask.to_bytes((mask.bit_length() + 7) // 8, "little")):
        if byte:
            for bit in _BITS[byte]:
                yield position * 8 + bit


def _keys(partition: Partition) -> tuple[int, ...]:
    """Every key of a partition."""
    preferred = partition.leader == partition.replicas[0]
    reassigned = partition.adding_replicas or partition.removing_replicas
    if preferred and not reassigned:
        return partition.isr
    keys = list(partition.isr)
    if partition.leader == NO_LEADER:
        keys.append(LEADERLESS)
    if not preferred:
        keys.append(NOT_PREFERRED)
    if reassigned:
        keys.append(REASSIGNED)
    return tuple(keys)


class IndexChange:
    """The next index, under construction."""

    def __init__(self, index: Index) -> None:
        self._before = index
        self._changed: dict[int, Any] = {}  # key -> MapMutation of its former entry

    def topic(
        self, topic_id: UUID, before: Mapping[int, Partition], after: Iterable[tuple[int, Partition | None]]
    ) -> Steps[None]:
        """Index the partitions of a topic in their state ``after`` (None: deleted) in place of that ``before``."""
        toggled: defaultdict[int, list[int]] = defaultdict(list)
        for count, (number, partition) in enumerate(after, 1):
            if not count % _AT_ONCE:
                yield _COST
            former = before.get(number) if before else None
            keys: Iterable[int] = () if partition is None else _keys(partition)
            if former is not None:
                keys = set(keys).symmetric_difference(_keys(former))
            for key in keys:
                toggled[key].append(number)
        for key, numbers in toggled.items():
            self._toggle(key, topic_id, _mask(numbers))

    def _toggle(self, key: int, topic_id: UUID, mask: int) -> None:
        topics = self._changed.get(key)
        if topics is None:
            topics = self._changed[key] = self._before.get(key, _NOTHING).mutate()
        mask ^= topics.get(topic_id, 0)
        if mask:
            topics[topic_id] = mask
        else:
            topics.pop(topic_id, None)

    def finish(self) -> Index:
        index = self._before.mutate()
        for key, mutation in self._changed.items():
            topics = mutation.finish()
            if topics:
                index[key] = topics
            else:
                index.pop(key, None)
        return index.finish()


def _mask(numbers: list[int]) -> int:
    highest = max(numbers)
    if highest < _SMALL or len(numbers) < 8:
        mask = 0
        for number in numbers:
            mask |= 1 << number
        return mask
    # Every step above copies the int; a large topic fills bytes in place instead.
    data = bytearray(highest // 8 + 1)
    for number in numbers:
        data[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(data, "little")
