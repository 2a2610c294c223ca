"""Replay: properties of any history, and what single records mean."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.clear_elr_record import ClearElrRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.metadata.delta import Delta, MetadataError, UnsupportedMetadata, replay
from kraft.metadata.image import DIRECTORY_MIGRATING, Image
from kraft.metadata.records_of import records_of
from tests.metadata.records import histories

TOPIC_ID = UUID(int=1000)


def image_of(*records: Any) -> Image:
    return replay(Image(), records, len(records) - 1, 1, 0)[0]


def one_partition(**fields: Any) -> tuple[Any, ...]:
    values = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 5, "partition_epoch": 7, **fields}
    return (
        TopicRecord(name="t", topic_id=TOPIC_ID),
        PartitionRecord(partition_id=0, topic_id=TOPIC_ID, directories=[UUID(int=101), UUID(int=102)], **values),
    )


@given(histories())
def test_a_snapshot_has_the_content_of_the_log(history: list[Any]) -> None:
    """KIP-630: the snapshot holds the minimal set of records for the state at its offset."""
    image, _ = replay(Image(), history, len(history), 1, 0)
    records = list(records_of(image))
    again, _ = replay(Image(), records, len(history), 1, 0)
    assert again == image
    assert len(records) <= len(history) + 1  # the one more is the migration state, which has a default


@given(histories(), st.data())
def test_it_does_not_matter_how_the_log_is_cut_into_batches(history: list[Any], data: st.DataObject) -> None:
    whole, _ = replay(Image(), history, len(history), 1, 0)
    image = Image()
    start = 0
    while start < len(history):
        end = data.draw(st.integers(start + 1, len(history)))
        image, _ = replay(image, history[start:end], len(history), 1, 0)
        start = end
    assert attrs.evolve(image, offset=len(history), epoch=1, timestamp_ms=0) == whole


@given(histories(), histories())
def test_an_image_never_changes(history: list[Any], later: list[Any]) -> None:
    image, _ = replay(Image(), history, 0, 1, 0)
    before = list(records_of(image))
    delta = Delta(image)
    for record in later:
        try:
            delta.replay(record)
        except MetadataError:
            break
    delta.finish(1, 1, 0)
    assert list(records_of(image)) == before


@given(histories(), histories())
def test_changes_name_every_difference(history: list[Any], later: list[Any]) -> None:
    """A broker that reads only the named changes misses none."""
    before, _ = replay(Image(), history, 0, 1, 0)
    delta = Delta(before)
    for record in later:
        try:
            delta.replay(record)
        except MetadataError:
            break
    after, changes = delta.finish(1, 1, 0)
    assert changes.topics_created == set(after.topics) - set(before.topics)
    assert set(changes.topics_deleted) == set(before.topics) - set(after.topics)
    assert {id for id in {*before.brokers, *after.brokers} if before.brokers.get(id) != after.brokers.get(id)} <= (
        changes.brokers
    )
    resources = {*before.configs, *after.configs}
    assert {r for r in resources if before.config(*r) != after.config(*r)} <= changes.configs
    for topic, index, partition in after.partitions():
        if before.partition(topic.id, index) != partition:
            assert index in changes.partitions[topic.id]


def test_an_untouched_table_is_the_same_object() -> None:
    image = image_of(*one_partition())
    after, _ = replay(image, [ConfigRecord(resource_type=2, resource_name="t", name="k", value="v")], 9, 1, 0)
    assert after.topics is image.topics
    assert after.acls is image.acls
    assert after.configs is not image.configs


def test_naming_a_leader_starts_a_leader_epoch() -> None:
    """KIP-631, PartitionChangeRecord: the leader epoch is incremented if there is a leader change."""
    image = image_of(*one_partition(), PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1))
    partition = image.partition(TOPIC_ID, 0)
    assert partition is not None
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 6, 8)


def test_a_smaller_isr_keeps_the_leader_epoch() -> None:
    """metadata.version 12 and later: no leader epoch bump when the ISR shrinks."""
    image = image_of(*one_partition(), PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))
    partition = image.partition(TOPIC_ID, 0)
    assert partition is not None
    assert (partition.isr, partition.leader_epoch, partition.partition_epoch) == ((1,), 5, 8)


def test_directories_that_are_not_named_stay_in_their_places() -> None:
    """KIP-858: a change of replicas has the directories if they are not, place by place, the former ones."""
    image = image_of(*one_partition(), PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, replicas=[3, 2]))
    partition = image.partition(TOPIC_ID, 0)
    assert partition is not None
    assert (partition.directory(3), partition.directory(2)) == (UUID(int=101), UUID(int=102))


@pytest.mark.parametrize("replicas", [[1], [2, 3], [1, 2, 3]])
def test_before_replicas_had_directories(replicas: list[int]) -> None:
    """metadata.version 16 and before: no record has directories, and any number of replicas is to be migrated."""
    topic, partition = one_partition()
    partition.directories = []
    image = image_of(topic, partition, PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, replicas=replicas))
    found = image.partition(TOPIC_ID, 0)
    assert found is not None
    assert found.directories == (DIRECTORY_MIGRATING,) * len(replicas)


def test_the_configuration_of_a_topic_dies_with_it() -> None:
    config = ConfigRecord(resource_type=2, resource_name="t", name="k", value="v")
    image = image_of(*one_partition(), config, RemoveTopicRecord(topic_id=TOPIC_ID))
    assert not image.configs
    assert not image.topic_ids


@pytest.mark.parametrize("topic", ["", "t"])
def test_clearing_eligible_leaders_changes_no_partition(topic: str) -> None:
    """KIP-966: a changed min.insync.replicas clears them, of a topic or of all. No partition of an image has any."""
    before = image_of(*one_partition())
    image, changes = replay(before, [ClearElrRecord(topic_name=topic)], 2, 1, 0)
    assert attrs.evolve(image, offset=before.offset) == before
    assert not changes.partitions


@pytest.mark.parametrize(
    "record",
    [
        ClearElrRecord(topic_name="u"),
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, isr=[1]),
        PartitionChangeRecord(partition_id=0, topic_id=UUID(int=1), isr=[1]),
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, replicas=[1]),
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, replicas=[]),
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, directories=[UUID(int=101)]),
        PartitionRecord(partition_id=-1, topic_id=TOPIC_ID, replicas=[1], directories=[UUID(int=101)]),
        PartitionRecord(partition_id=2**31 - 1, topic_id=TOPIC_ID, replicas=[1], directories=[UUID(int=101)]),
        PartitionRecord(partition_id=1, topic_id=TOPIC_ID),
        FeatureLevelRecord(name="metadata.version", feature_level=31),
        RemoveTopicRecord(topic_id=UUID(int=1)),
        TopicRecord(name="t", topic_id=UUID(int=2)),
        *(TopicRecord(name=name, topic_id=UUID(int=2)) for name in ("../../pwned", "a/b", "..", "", "\0", "a" * 250)),
        UnregisterBrokerRecord(broker_id=1, broker_epoch=1),
        object(),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_that_contradicts_the_image_is_an_error(record: Any) -> None:
    with pytest.raises(MetadataError):
        image_of(*one_partition(), record)


@pytest.mark.parametrize(
    "record",
    [
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, eligible_leader_replicas=[2]),
        PartitionRecord(partition_id=1, topic_id=TOPIC_ID, replicas=[1], last_known_elr=[1]),
    ],
    ids=lambda record: type(record).__name__,
)
def test_eligible_leader_replicas_are_unsupported_and_no_damage(record: Any) -> None:
    """docs/robustness/files.md: such a record stops the node "with a line that does not call it damage". The advice for
    damage would have the operator empty the directory of a voter.
    """
    with pytest.raises(UnsupportedMetadata, match=r"eligible\.leader\.replicas\.version 0"):
        image_of(*one_partition(), record)
