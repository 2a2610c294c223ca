"""The metadata that a broker has applied."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import trio

from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.wire.errors import ErrorCode
from tests.coordination.desk import FOLLOWER, LEADER, LEADER_EPOCH, OFFSETS_ID, desk_in

PARTITIONS = 100


def wide_topic() -> tuple[TopicRecord | PartitionRecord, ...]:
    topic_id = UUID(int=60)
    return TopicRecord(name="wide", topic_id=topic_id), *(
        PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=[LEADER],
            isr=[LEADER],
            leader=LEADER,
            directories=[UUID(int=100)],
        )
        for index in range(PARTITIONS)
    )


async def test_an_image_is_applied_when_all_of_its_partitions_are_hosted(tmp_path: Path) -> None:
    """A broker passes on the response to a CreateTopics when it has applied its records. Other tasks run while it opens
    the logs.
    """
    async with desk_in(tmp_path) as desk:
        await desk.lead()
        desk.feed.commit(*wide_topic())
        offset = desk.feed.loader.image.offset
        while desk.replicas.image.offset < offset:
            await trio.lowlevel.checkpoint()
        assert len(desk.replicas.partitions.get("wide", {})) < PARTITIONS, "it is not applied yet"
        assert desk.publisher.offset < offset
        await desk.publisher.until(lambda image: image.offset == offset)
        assert len(desk.replicas.partitions["wide"]) == PARTITIONS
        assert desk.publisher.offset == offset


async def test_roles_are_taken_before_the_next_image_takes_one_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registration takes roles in slices, and an image that arrives meanwhile ends one of them. The coordinator must
    not learn of the end first: it would then load a partition of another leader.
    """
    monkeypatch.setattr("kraft.replication.replicas._CONDITIONS_IN_A_ROW", 1)
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.publish(*wide_topic())
        moved = PartitionChangeRecord(partition_id=0, topic_id=OFFSETS_ID, leader=FOLLOWER)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.publisher.registered, LEADER_EPOCH)
            while not desk.partition.is_leader:
                await trio.lowlevel.checkpoint()
            await desk.publish(moved)
        assert not desk.partition.is_leader
        assert await desk.committed() == ErrorCode.NOT_COORDINATOR
        assert sum(each.is_leader for each in desk.replicas.all()) == PARTITIONS
