"""Committed metadata as images, for readers at their own pace, and as snapshots."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import trio

from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.node.metadata import SnapshotPolicy
from kraft.raft.messages import SnapshotId
from tests.node.quorums import committed_image, running


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


async def test_what_was_committed_meanwhile_comes_as_one_change(tmp_path: Path) -> None:
    async with running(tmp_path) as (quorum, metadata):
        reader = metadata.subscribe()
        for number in range(5):
            quorum.append([topic(number)], 1)
        quorum.append([RemoveTopicRecord(topic_id=UUID(int=1000))], 1)
        await quorum.committed(quorum.end_offset - 1)
        await committed_image(quorum, metadata)
        image, changes = await reader.next()
        assert image is metadata.image is reader.image
        assert changes.topics_created == {UUID(int=1000 + number) for number in range(1, 5)}
        assert not changes.topics_deleted


async def test_a_transaction_is_one_change(tmp_path: Path) -> None:
    """KIP-868: nothing of a metadata transaction is seen before its end."""
    async with running(tmp_path) as (quorum, metadata):
        reader = metadata.subscribe()
        await quorum.committed(quorum.append([BeginTransactionRecord(name="x"), topic(1)], 1))
        assert not (await committed_image(quorum, metadata)).topics
        quorum.append([topic(2), EndTransactionRecord()], 1)
        with trio.fail_after(30):
            image, changes = await reader.next()
        assert sorted(image.topic_ids) == ["t1", "t2"]
        assert len(changes.topics_created) == 2


async def test_a_snapshot_is_written_when_it_is_due_and_a_restart_loads_it(tmp_path: Path) -> None:
    """KIP-630: metadata.log.max.record.bytes.between.snapshots."""
    async with running(tmp_path, policy=SnapshotPolicy(max_bytes=2000)) as (quorum, metadata):
        with trio.fail_after(30):
            number = 0
            while quorum.log.snapshot is None:
                await quorum.committed(quorum.append([topic(number)], 1))
                number += 1
        snapshot = quorum.log.snapshot
    async with running(tmp_path) as (quorum, metadata):
        assert metadata.snapshots_loaded == 1
        assert quorum.log.snapshot == snapshot
        assert isinstance(snapshot, SnapshotId)
        assert len(metadata.image.topics) == number
