"""The metadata that a broker has applied."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import trio

from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from tests.coordination.desk import LEADER, desk_in

PARTITIONS = 100


async def test_an_image_is_applied_when_all_of_its_partitions_are_hosted(tmp_path: Path) -> None:
    """A broker passes on the response to a CreateTopics when it has applied its records. Other tasks run while it opens
    the logs.
    """
    topic_id = UUID(int=60)
    records = [
        PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=[LEADER],
            isr=[LEADER],
            leader=LEADER,
            directories=[UUID(int=100)],
        )
        for index in range(PARTITIONS)
    ]
    async with desk_in(tmp_path) as desk:
        await desk.lead()
        desk.feed.commit(TopicRecord(name="wide", topic_id=topic_id), *records)
        offset = desk.feed.loader.image.offset
        while desk.replicas.image.offset < offset:
            await trio.lowlevel.checkpoint()
        assert len(desk.replicas.partitions["wide"]) < PARTITIONS, "it is not applied yet"
        assert desk.publisher.offset < offset
        await desk.publisher.until(lambda image: image.offset == offset)
        assert len(desk.replicas.partitions["wide"]) == PARTITIONS
        assert desk.publisher.offset == offset
