"""kraft.zookeeper.controller.placement."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.controller.placement import place


def test_the_table_of_kafkas_documentation() -> None:
    """AdminUtils, the example of five brokers, ten partitions and three replicas."""
    placed = place(dict.fromkeys(range(5)), range(10), 3, start=0, shift=0)
    assert list(placed.values()) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_the_example_of_kafkas_documentation_with_racks() -> None:
    """AdminUtils: "The rack alternated list will be: 0, 3, 1, 5, 4, 2", and the seven partitions after that."""
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    placed = place(racks, range(7), 3, start=0, shift=0)
    assert list(placed.values()) == [(0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2)]


def test_added_partitions_go_on_where_the_others_ended() -> None:
    """AdminZkClient.createNewPartitionsAssignment passes a start index and the number of the first new partition."""
    brokers = dict.fromkeys(range(1, 4))
    placed = place(brokers, range(6), 2, start=1, shift=1)
    assert place(brokers, range(2, 6), 2, start=1, shift=1) == {index: placed[index] for index in range(2, 6)}


@given(
    racks=st.dictionaries(st.integers(0, 50), st.sampled_from("abc"), min_size=1, max_size=9),
    partitions=st.integers(1, 40),
    start=st.integers(0, 8),
    shift=st.integers(0, 8),
    data=st.data(),
)
def test_replicas_are_spread(
    racks: dict[int, str | None], partitions: int, start: int, shift: int, data: st.DataObject
) -> None:
    """AdminUtils: "each rack will get at least one replica" with as many replicas as racks, "otherwise, each rack will
    get at most one replica"; leaders are even on the brokers."""
    count = data.draw(st.integers(1, len(racks)))
    placed = place(racks, range(partitions), count, start, shift)
    for replicas in placed.values():
        assert len(set(replicas)) == count
        assert len({racks[each] for each in replicas}) == min(count, len(set(racks.values())))
    leaders = Counter(replicas[0] for replicas in placed.values())
    assert max(leaders.values()) - min(leaders[each] for each in racks) <= 1


@pytest.mark.parametrize(
    ("racks", "code"),
    [
        ({1: None}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({1: "a", 2: None}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_placed(racks: dict[int, str | None], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        place(racks, range(1), 2, 0, 0)
    assert refused.value.code is code
