"""Many steps as one change: the result is the difference between the images before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.partition_record import PartitionRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.changes import NO_CHANGES, Accumulated, difference
from kraft.metadata.delta import Changes, replay
from kraft.metadata.image import Image, Topic
from kraft.metadata.loader import Loader
from kraft.metadata.partitions import Partition
from kraft.metadata.records_of import records_of
from tests.metadata.records import histories


@given(histories(), st.data())
def test_steps_add_up_to_the_difference_of_the_images(history: Sequence[Any], data: st.DataObject) -> None:
    """The result may include changes that were reverted. It does not include a topic that was created and deleted.

    A topic id that is used again, as no controller does, is both deleted and created.
    """
    seen = data.draw(st.integers(0, len(history)), "records before")
    loader = Loader()
    loader.load(history[:seen], seen - 1, 1, 0)
    before, steps = loader.image, Accumulated()
    for number in range(seen, len(history)):
        published = loader.load([history[number]], number, 1, 0)
        assert published is not None
        steps.add(published[1])
    total, least = steps.total(), difference(before, loader.image)
    again = total.topics_created & total.topics_deleted.keys()
    assert total.topics_created - again == least.topics_created
    assert total.topics_deleted.keys() - again == least.topics_deleted.keys()
    assert total.configs >= least.configs
    assert total.brokers >= least.brokers
    assert set(total.partitions) <= set(loader.image.topics)
    assert all(total.partitions[key] >= indexes for key, indexes in least.partitions.items() if indexes)


def image_of(records: Sequence[Any]) -> Image:
    return replay(Image(), records, len(records) - 1, 1, 0)[0]


def from_snapshot(image: Image) -> Image:
    """The image as a node has it that loaded a snapshot: nothing in it is the same object."""
    return image_of(list(records_of(image)))


#: Two histories: of nothing in common, or one a beginning of the other.
pairs = st.tuples(histories(), histories()) | histories().flatmap(
    lambda history: st.integers(0, len(history)).map(lambda seen: (history[:seen], history))
)


@given(pairs)
def test_the_change_of_a_snapshot_is_the_difference_of_the_two_images(pair: tuple[list[Any], list[Any]]) -> None:
    """KIP-630: a snapshot stands for all records before it, so its readers must learn what any of them changed.

    The oracle compares the two images table by table; no record connects them.
    """
    before, after = image_of(pair[0]), from_snapshot(image_of(pair[1]))
    changes = difference(before, after)
    assert changes.topics_created == set(after.topics) - set(before.topics)
    assert dict(changes.topics_deleted) == {key: old for key, old in before.topics.items() if key not in after.topics}
    partitions = {(key, index) for key, indexes in changes.partitions.items() for index in indexes}
    assert partitions == {
        (topic.id, index)
        for topic, index, partition in after.partitions()
        if before.partition(topic.id, index) != partition
    }
    for found, old, new in (
        (changes.brokers, before.brokers, after.brokers),
        (changes.configs, before.configs, after.configs),
    ):
        assert found == {key for key in {*old, *new} if old.get(key) != new.get(key)}


@given(histories())
def test_a_snapshot_of_the_same_metadata_changes_nothing(history: list[Any]) -> None:
    image = image_of(history)
    assert difference(image, from_snapshot(image)) == NO_CHANGES


class Mirror:
    """A reader that looks at nothing but the changes, as a broker's replicas do: partitions by topic name."""

    def __init__(self, image: Image) -> None:
        self.partitions: dict[str, dict[int, tuple[UUID, Partition]]] = {}
        for topic, index, partition in image.partitions():
            self.take(topic, index, partition)

    def take(self, topic: Topic, index: int, partition: Partition) -> None:
        self.partitions.setdefault(topic.name, {})[index] = topic.id, partition

    def apply(self, image: Image, changes: Changes) -> None:
        for gone in changes.topics_deleted.values():
            self.partitions.pop(gone.name, None)
        for key, indexes in changes.partitions.items():
            topic = image.topics[key]
            for index in indexes:
                self.take(topic, index, topic.partitions[index])


@given(histories(), histories(), st.data())
def test_a_reader_of_changes_has_the_image_whether_records_or_a_snapshot_brought_them(
    first: list[Any], second: list[Any], data: st.DataObject
) -> None:
    """A slow reader sees records, a snapshot and more records as one change."""
    seen = data.draw(st.integers(0, len(first)), "records that the reader has seen")
    covered = data.draw(st.integers(0, len(second)), "records that the snapshot covers")
    loader = Loader()
    loader.load(first[:seen], seen - 1, 1, 0)
    mirror, steps = Mirror(loader.image), Accumulated()
    for number in range(seen, len(first)):
        published = loader.load([first[number]], number, 1, 0)
        assert published is not None
        steps.add(published[1])
    image = from_snapshot(image_of(second[:covered]))
    steps.add(difference(loader.image, image))
    loader = Loader(image)
    for number in range(covered, len(second)):
        published = loader.load([second[number]], number, 1, 0)
        assert published is not None
        steps.add(published[1])
    mirror.apply(loader.image, steps.total())
    assert mirror.partitions == Mirror(loader.image).partitions


def test_a_topic_that_was_deleted_and_made_anew_before_a_snapshot_is_both() -> None:
    """A broker that took the new topic of a name for the old one would serve the deleted records."""
    old, new = UUID(int=1001), UUID(int=1002)

    def made(key: UUID) -> list[Any]:
        return [TopicRecord("orders", key), PartitionRecord(0, key, [1], [1], leader=1)]

    before = image_of(made(old))
    changes = difference(before, from_snapshot(image_of([*made(old), RemoveTopicRecord(old), *made(new)])))
    assert changes.topics_created == {new}
    assert changes.topics_deleted == {old: before.topics[old]}
    assert changes.partitions == {new: {0}}
