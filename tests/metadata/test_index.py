"""The index of partitions by broker against a look at all of them, over any history."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import replay
from kraft.metadata.image import Image
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED, REASSIGNED, partitions_in
from kraft.metadata.records_of import records_of
from tests.metadata.records import histories


def found(image: Image, key: int) -> list[tuple[str, int]]:
    return [(topic.name, index) for topic, index, _ in image.partitions_of(key)]


@given(histories(), st.integers(1, 5))
def test_it_finds_the_collisions_of_a_full_scan(history: list[Any], batch: int) -> None:
    image = Image()
    for start in range(0, len(history), batch):
        image, _ = replay(image, history[start : start + batch], start, 1, 0)
    everything = [(topic.name, index, partition) for topic, index, partition in image.partitions()]
    for broker_id in range(5):
        assert found(image, broker_id) == [(name, index) for name, index, p in everything if broker_id in p.isr]
    assert found(image, LEADERLESS) == [(name, index) for name, index, p in everything if p.leader == -1]
    assert found(image, NOT_PREFERRED) == [(name, i) for name, i, p in everything if p.leader != p.replicas[0]]
    assert found(image, REASSIGNED) == [
        (name, index) for name, index, p in everything if p.adding_replicas or p.removing_replicas
    ]
    snapshot, _ = replay(Image(), records_of(image), 0, 1, 0)
    assert snapshot.index == image.index, "the way to an image leaves no trace in it"
    assert all(image.index.values())


def test_a_large_topic() -> None:
    """Masks of thousands of bits are made in another way than short ones."""
    topic_id = UUID(int=1000)
    made = [
        PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[index % 3], isr=[index % 3], leader=index % 3)
        for index in range(5000)
    ]
    image, _ = replay(Image(), [TopicRecord(name="t", topic_id=topic_id), *made], 0, 1, 0)
    gone = [PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=-1) for index in range(1, 5000, 3)]
    image, _ = replay(image, gone, 1, 1, 0)
    assert [index for _, index in found(image, 1)] == [index for _, index in found(image, LEADERLESS)]
    assert [index for _, index in found(image, 2)] == list(range(2, 5000, 3))
    image, _ = replay(image, [RemoveTopicRecord(topic_id=topic_id)], 2, 1, 0)
    assert not image.index


@given(st.sets(st.integers(0, 5000)))
def test_a_mask_has_the_bits_of_the_flags(numbers: set[int]) -> None:
    assert list(partitions_in(sum(1 << number for number in numbers))) == sorted(numbers)
