"""The record of a partition's next state: what differs by level, and what leads to no record."""

from __future__ import annotations

import pytest

from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.delta import LEADER_UNCHANGED
from tests.controller.toy import ToyCluster


def cluster(level: int = 21) -> ToyCluster:
    toy = ToyCluster(level=level)
    toy.start(1, 2, 3)
    toy.create(assignment={0: [1, 2, 3]})
    return toy


def last_change(toy: ToyCluster) -> PartitionChangeRecord:
    record = toy.log[-1]
    assert isinstance(record, PartitionChangeRecord)
    return record


@pytest.mark.parametrize(("level", "leader"), [(7, 1), (11, 1), (12, LEADER_UNCHANGED), (21, LEADER_UNCHANGED)])
def test_a_smaller_isr_began_a_leader_epoch_below_level_12(level: int, leader: int) -> None:
    """KAFKA-15021: until then brokers did not take notice of an ISR without a new leader epoch."""
    toy = cluster(level)
    toy.in_sync(1, 2)
    assert (last_change(toy).leader, last_change(toy).isr) == (leader, [1, 2])
    epoch = toy.partition().leader_epoch
    toy.in_sync(1, 2, 3)
    assert toy.partition().leader_epoch == epoch, "a larger one never did"


@pytest.mark.parametrize("level", [7, 16, 17, 21])
def test_directories_are_recorded_from_level_17_on(level: int) -> None:
    toy = cluster(level)
    for record in toy.log:
        assert bool(getattr(record, "directories", None)) == (type(record).__name__ == "PartitionRecord" and level > 16)


def test_unchanged_fields_are_not_in_the_record() -> None:
    toy = cluster()
    toy.heartbeat(1, fence=True)
    record = next(each for each in reversed(toy.log) if isinstance(each, PartitionChangeRecord))
    topic_id = toy.topic().id
    assert record == PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=2, isr=[2, 3])
