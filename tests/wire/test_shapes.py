"""Rows of structures read by their shape give what reading them one by one gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.metadata_response import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kraft.messages.partition_record import PartitionRecord
from kraft.wire.codec import decode, encode
from kraft.wire.encoder import Packers
from kraft.wire.shapes import Shapes, has_shape

COUNTS = st.sampled_from([0, 1, 2, 3, 33, 130])


@given(rows=st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=8), version=st.sampled_from([5, 8, 9, 13]))
def test_partitions_of_many_shapes_come_back(rows: list[tuple[int, int, int]], version: int) -> None:
    partitions = [
        MetadataResponsePartition(0, number, 1, -1, list(range(a)), list(range(b)), list(range(c)))
        for number, (a, b, c) in enumerate(rows)
    ]
    response = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)] * 2)
    assert decode(MetadataResponse, version, encode(response, version))[0] == response


@given(marks=st.lists(st.integers(-1, 2), max_size=8))
def test_a_tagged_field_interrupts_a_row(marks: list[int]) -> None:
    """FetchRequest 18 has the follower's high watermark as a tagged field; most partitions do not set it."""
    partitions = [FetchPartition(number, high_watermark=mark) for number, mark in enumerate(marks)]
    request = FetchRequest(topics=[FetchTopic(partitions=partitions)])
    assert decode(FetchRequest, 18, encode(request, 18))[0] == request


def test_only_numbers_have_a_shape() -> None:
    assert has_shape(MetadataResponsePartition, 9, True)
    assert not has_shape(MetadataResponseTopic, 9, True)
    assert not has_shape(PartitionRecord, 1, True)


def test_large_and_too_many_shapes_have_no_reader() -> None:
    """Each reader is compiled: a peer must not make us compile without end."""
    shapes = Shapes(MetadataResponsePartition, 9, True)
    assert shapes[60, 30, 7] is None
    readers = [shapes[a, b, 0] for a in range(10) for b in range(10)]
    assert len(shapes) == Shapes.MAX_SHAPES
    assert readers.count(None) == 100 - Shapes.MAX_SHAPES


def test_packers_are_bounded() -> None:
    packers = Packers("{}i", "B")
    assert packers[(2,)](7, 8, 1) == bytes([0, 0, 0, 7, 0, 0, 0, 8, 1])
    for count in range(Packers.LIMIT):
        _ = packers[(count,)]
    assert len(packers) <= Packers.LIMIT
