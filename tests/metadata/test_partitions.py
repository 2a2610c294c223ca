"""The table of a topic's partitions compared with a dictionary, and the objects that it shares."""

from __future__ import annotations

import sys
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.metadata.partitions import Partition, Partitions, shared_partition

INDEXES = st.integers(0, 20) | st.integers(0, 300) | st.just(100_000)


def partition(epoch: int, *replicas: int) -> Partition:
    replicas = replicas or (1, 2)
    return shared_partition(replicas, replicas, replicas[0], 0, epoch, (UUID(int=1),) * len(replicas), 0, (), ())


changes = st.lists(st.dictionaries(INDEXES, st.integers(0, 5).map(partition), max_size=5), max_size=6)


@given(changes)
def test_it_is_a_dictionary_in_order(steps: list[dict[int, Partition]]) -> None:
    table, model = Partitions(), dict[int, Partition]()
    for step in steps:
        before, former = table, dict(model)
        table = table.changed(step)
        model.update(step)
        assert dict(before) == former, "a table never changes"
    assert list(table.items()) == sorted(model.items())
    assert (list(table), len(table)) == (sorted(model), len(model))
    assert table == model
    for index in (-1, 0, 7, 20, 64, 300, 99_999, 100_000, 2**31):
        assert table.get(index) == model.get(index)
        assert (index in table) == (index in model)


@given(changes, changes)
def test_equal_tables_are_equal_however_they_came_about(
    one: list[dict[int, Partition]], other: list[dict[int, Partition]]
) -> None:
    def table_of(steps: list[dict[int, Partition]]) -> Partitions:
        table = Partitions()
        for step in steps:
            table = table.changed(step)
        return table

    assert (table_of(one) == table_of(other)) == (dict(table_of(one)) == dict(table_of(other)))
    at_once: dict[int, Partition] = {}
    for step in one:
        at_once |= step
    assert table_of(one) == Partitions().changed(at_once)


def test_a_change_copies_one_chunk() -> None:
    table = Partitions().changed({index: partition(0) for index in range(100_000)})
    changed = table.changed({5: partition(1)})
    shared = sum(a is b for a, b in zip(table._chunks, changed._chunks, strict=True))
    assert (shared, len(changed._chunks)) == (1562, 1563)


def test_equal_partitions_are_one_object() -> None:
    assert partition(3, 1, 2) is partition(3, 1, 2)
    first, later = partition(3, 7, 8), partition(4, 7, 8)
    assert first is not later
    assert first.replicas is later.replicas
    assert first.directories is later.directories


def test_a_table_of_equal_partitions_is_little_more_than_pointers() -> None:
    table = Partitions().changed({index: partition(0) for index in range(6400)})
    assert sum(map(sys.getsizeof, table._chunks)) + sys.getsizeof(table._chunks) < 10 * 6400
