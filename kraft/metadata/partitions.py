"""The state of partitions, and the table of a topic's partitions.

A cluster may have a million partitions, so both are kept small. Equal partitions are often the same object: the
partitions of a new topic differ in little but their replicas, and there are few replica lists. A topic's table is a
tuple of tuples: a changed table shares all unchanged chunks, and costs a pointer for each 64 partitions beside the
change itself.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import attrs

NO_LEADER = -1

RECOVERED = 0
RECOVERING = 1

#: A record beyond this number is damaged: no topic comes near it, and its table would be mostly holes.
MAX_PARTITIONS = 1 << 24

_CHUNK_BITS = 6
_CHUNK = 1 << _CHUNK_BITS
_REMEMBERED = 1 << 16


@attrs.frozen(weakref_slot=False)
class Partition:
    """One partition: its replicas, its ISR and its leader.

    ``leader_epoch`` counts leaders, ``partition_epoch`` counts changes of any kind. ``directories`` runs parallel to
    ``replicas``. An ISR never becomes empty: its last member stays in it, and ``leader`` is NO_LEADER.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[UUID, ...]
    leader_recovery_state: int = RECOVERED
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment is under way (KIP-455)."""
        return bool(self.adding_replicas or self.removing_replicas)

    @property
    def has_preferred_leader(self) -> bool:
        return self.leader == self.replicas[0]

    def directory(self, broker_id: int) -> UUID:
        """The directory that holds the replica of a broker."""
        return self.directories[self.replicas.index(broker_id)]


@lru_cache(maxsize=_REMEMBERED)
def _one_of_equals(ids: tuple[int, ...]) -> tuple[int, ...]:
    return ids


@lru_cache(maxsize=_REMEMBERED)
def _last_with(replicas: tuple[int, ...]) -> list[Partition]:
    """A slot for the last partition with these replicas."""
    return []


def shared_partition(
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    leader: int,
    leader_epoch: int,
    partition_epoch: int,
    directories: tuple[UUID, ...],
    leader_recovery_state: int,
    removing_replicas: tuple[int, ...],
    adding_replicas: tuple[int, ...],
) -> Partition:
    """Return a partition: the last one with the same replicas if equal, else one that shares its equal fields."""
    last = _last_with(replicas)
    if last:
        known = last[0]
        replicas = known.replicas
        if known.directories == directories:
            directories = known.directories
            if (
                known.leader == leader
                and known.leader_epoch == leader_epoch
                and known.partition_epoch == partition_epoch
                and known.isr == isr
                and known.leader_recovery_state == leader_recovery_state
                and known.removing_replicas == removing_replicas
                and known.adding_replicas == adding_replicas
            ):
                return known
    partition = Partition(
        replicas,
        _one_of_equals(isr),
        leader,
        leader_epoch,
        partition_epoch,
        directories,
        leader_recovery_state,
        removing_replicas,
        adding_replicas,
    )
    last[:] = (partition,)
    return partition


class Partitions(Mapping[int, Partition]):
    """The partitions of a topic by number, in order. A value: ``changed`` returns another one."""

    __slots__ = ("_chunks", "_count")

    def __init__(self, chunks: tuple[tuple[Partition | None, ...], ...] = (), count: int = 0) -> None:
        # A chunk ends with its last partition; a number without a partition is a hole.
        self._chunks = chunks
        self._count = count

    def changed(self, partitions: Mapping[int, Partition]) -> Partitions:
        """Return a table with these partitions added or replaced."""
        by_chunk: dict[int, list[int]] = {}
        for index in partitions:
            by_chunk.setdefault(index >> _CHUNK_BITS, []).append(index)
        count = self._count
        chunks = list(self._chunks)
        if by_chunk:
            chunks += [()] * (max(by_chunk) + 1 - len(chunks))
        for number, indexes in by_chunk.items():
            chunk = list(chunks[number])
            chunk += [None] * ((max(indexes) & (_CHUNK - 1)) + 1 - len(chunk))
            for index in indexes:
                position = index & (_CHUNK - 1)
                count += chunk[position] is None
                chunk[position] = partitions[index]
            chunks[number] = tuple(chunk)
        return Partitions(tuple(chunks), count)

    def get(self, index: int, default: Any = None) -> Any:
        if index < 0:
            return default
        try:
            partition = self._chunks[index >> _CHUNK_BITS][index & (_CHUNK - 1)]
        except IndexError:
            return default
        return default if partition is None else partition

    def __getitem__(self, index: int) -> Partition:
        partition: Partition | None = self.get(index)
        if partition is None:
            raise KeyError(index)
        return partition

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and self.get(index) is not None

    def __iter__(self) -> Iterator[int]:
        return (index for index, _ in self.items())

    def __len__(self) -> int:
        return self._count

    def items(self) -> ItemsView[int, Partition]:
        return _Items(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Partitions):
            return self._chunks == other._chunks
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Partitions({dict(self)!r})"


class _Items(ItemsView[int, Partition]):
    _mapping: Partitions

    def __iter__(self) -> Iterator[tuple[int, Partition]]:
        for number, chunk in enumerate(self._mapping._chunks):
            for index, partition in enumerate(chunk, number << _CHUNK_BITS):
                if partition is not None:
                    yield index, partition
