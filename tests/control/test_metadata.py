"""Committed metadata as images, for readers at their own pace, and as snapshots."""

from __future__ import annotations

import logging
from pathlib import Path
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.config.topic import LogConfig
from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.fetch_response import EpochEndOffset, FetchResponse
from kraft.messages.fetch_response import SnapshotId as SnapshotOnTheWire
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.changes import difference
from kraft.metadata.delta import replay
from kraft.metadata.image import Image
from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.messages import SnapshotId
from kraft.simulation import virtual_time
from kraft.storage.errors import StorageError
from kraft.world.world import World
from tests.support.eventually import until
from tests.support.quorums import append, committed_image, running
from tests.support.scripted_leader import EPOCH, Leader, answer, at_once, follower_of, opening, piece, topics


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


async def test_a_slow_subscription_gets_all_changes_as_one(tmp_path: Path) -> None:
    async with running(tmp_path) as (quorum, metadata):
        reader = metadata.subscribe()
        for number in range(5):
            append(quorum, [topic(number)], 1)
        append(quorum, [RemoveTopicRecord(topic_id=UUID(int=1000))], 1)
        await quorum.committed(quorum.end_offset - 1)
        await committed_image(quorum, metadata)
        image, changes = await reader.next()
        assert image is metadata.image is reader.image
        assert changes.topics_created == {UUID(int=1000 + number) for number in range(1, 5)}
        assert not changes.topics_deleted


async def test_the_deletion_of_a_topic_is_seen_before_another_has_its_name(tmp_path: Path) -> None:
    """Records of committed offsets name their topic. A reader deletes them before the name has another topic."""
    async with running(tmp_path) as (quorum, metadata):
        append(quorum, [topic(1), topic(2)], 1)
        await quorum.committed(quorum.end_offset - 1)
        before = await committed_image(quorum, metadata)
        reader = metadata.subscribe()
        again = topic(1).evolve(topic_id=UUID(int=2001))
        append(quorum, [RemoveTopicRecord(topic_id=UUID(int=1001)), again], 1)
        append(quorum, [RemoveTopicRecord(topic_id=UUID(int=1002))], 1)
        await quorum.committed(quorum.end_offset - 1)
        await committed_image(quorum, metadata)
        image, changes = await reader.next()
        assert (image.offset, sorted(image.topic_ids)) == (before.offset, ["t2"])
        assert changes == difference(before, image)
        last, changes = await reader.next()
        assert last is metadata.image
        assert dict(last.topic_ids) == {"t1": UUID(int=2001)}
        assert (changes.topics_created, set(changes.topics_deleted)) == ({UUID(int=2001)}, {UUID(int=1002)})


async def test_a_transaction_is_one_change(tmp_path: Path) -> None:
    """KIP-868: nothing of a metadata transaction is seen before its end."""
    async with running(tmp_path) as (quorum, metadata):
        reader = metadata.subscribe()
        await quorum.committed(append(quorum, [BeginTransactionRecord(name="x"), topic(1)], 1))
        assert not (await committed_image(quorum, metadata)).topics
        append(quorum, [topic(2), EndTransactionRecord()], 1)
        with trio.fail_after(30):
            image, changes = await reader.next()
        assert sorted(image.topic_ids) == ["t1", "t2"]
        assert len(changes.topics_created) == 2


async def test_the_features_have_the_epoch_of_their_last_change(tmp_path: Path) -> None:
    """KIP-584: the epoch distinguishes newer features from older ones, so it stays while only other metadata
    changes.
    """
    async with running(tmp_path, policy=SnapshotPolicy(max_bytes=1)) as (quorum, metadata):
        assert metadata.features_epoch == -1
        changed_at = append(quorum, [topic(1), FeatureLevelRecord(name="metadata.version", feature_level=20)], 1)
        await quorum.committed(changed_at)
        await quorum.committed(append(quorum, [topic(2)], 1))
        await committed_image(quorum, metadata)
        assert metadata.features_epoch == changed_at
        with trio.fail_after(30):
            while (quorum.log.snapshot or SnapshotId(0, 0)).end_offset <= changed_at:
                await trio.lowlevel.checkpoint()
    async with running(tmp_path) as (quorum, metadata):
        snapshot = quorum.log.snapshot
        assert snapshot is not None
        assert metadata.features_epoch == snapshot.end_offset - 1


async def test_a_record_that_contradicts_the_metadata_is_named_with_its_file_and_offset(tmp_path: Path) -> None:
    gone = RemoveTopicRecord(topic_id=UUID(int=1))
    where = rf"__cluster_metadata-0/{0:020}\.log: damaged at offset 2: RemoveTopicRecord names topic .*, which does not"
    with pytest.RaisesGroup(pytest.RaisesExc(StorageError, match=where), flatten_subgroups=True):
        async with running(tmp_path) as (quorum, metadata):
            append(quorum, [topic(1)], 1)
            await quorum.committed(append(quorum, [gone], 1))
            await committed_image(quorum, metadata)


async def test_other_tasks_run_while_a_long_log_is_replayed(tmp_path: Path) -> None:
    """A voter that starts must answer its peers long before it has replayed all of its log."""
    async with running(tmp_path) as (quorum, metadata), trio.open_nursery() as nursery:
        reader = metadata.subscribe()
        stretches = [0]

        async def take_turns() -> None:
            seen = metadata.next_offset
            while True:
                await trio.lowlevel.checkpoint()
                stretches.append(metadata.next_offset - seen)
                seen = metadata.next_offset

        nursery.start_soon(take_turns)
        for number in range(500):
            last = append(quorum, [topic(number)], 1)
        await quorum.committed(last)
        await committed_image(quorum, metadata)
        nursery.cancel_scope.cancel()
    assert max(stretches) < 100
    _, changes = await reader.next()
    assert len(changes.topics_created) == 500


async def test_a_snapshot_is_written_when_it_is_due_and_a_restart_loads_it(tmp_path: Path) -> None:
    """KIP-630: metadata.log.max.record.bytes.between.snapshots."""
    async with running(tmp_path, policy=SnapshotPolicy(max_bytes=2000)) as (quorum, metadata):
        with trio.fail_after(30):
            number = 0
            while quorum.log.snapshot is None:
                await quorum.committed(append(quorum, [topic(number)], 1))
                number += 1
        snapshot = quorum.log.snapshot
    async with running(tmp_path) as (quorum, metadata):
        assert metadata.snapshots_loaded == 1
        assert quorum.log.snapshot == snapshot
        assert isinstance(snapshot, SnapshotId)
        assert len(metadata.image.topics) == number


async def test_a_snapshot_makes_room_for_all_that_retention_allows(tmp_path: Path) -> None:
    """metadata.max.retention.bytes, also if it was lowered, or the last snapshots could not be written."""
    async with running(tmp_path) as (quorum, metadata):
        for number in range(5):
            await quorum.committed(append(quorum, [topic(number)], 1))
            snapshot = quorum.log.write_snapshot(await committed_image(quorum, metadata))
            await quorum.snapshot_created(snapshot)
    little = LogConfig(retention_bytes=1, retention_ms=1)
    policy = SnapshotPolicy(max_bytes=1)
    async with running(tmp_path, policy=policy, config=little) as (quorum, metadata):
        await quorum.committed(append(quorum, [topic(5)], quorum.epoch))
        await until(lambda: quorum.log.snapshot is not None and quorum.log.snapshot > snapshot)
        await until(lambda: len(list(tmp_path.rglob("*.checkpoint"))) == 1)


async def test_a_trim_ends_though_the_leaders_snapshot_replaced_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the node would write no snapshot any more."""
    async with running(tmp_path) as (quorum, metadata):
        snapshots = []
        for number in range(2):
            await quorum.committed(append(quorum, [topic(number)], 1))
            snapshots.append(quorum.log.write_snapshot(await committed_image(quorum, metadata)))
        first, second = snapshots

        async def replace() -> None:
            quorum.log.trim(second)

        monkeypatch.setattr(quorum._flusher, "idle", replace)
        with trio.fail_after(30):
            await quorum.trim(first)
        assert quorum.log.start_offset == second.end_offset


HOUR_S = 3600.0


async def _hourly(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    policy = SnapshotPolicy(max_interval_ms=int(HOUR_S * 1000))
    async with running(directory, policy=policy, in_thread=at_once) as (quorum, _):
        written = []
        for number in range(2):
            await quorum.committed(append(quorum, [topic(number)], 1))
            await trio.sleep(HOUR_S - 1)
            assert _snapshots_written(caplog) == written, "its time has not come"
            await trio.sleep(2)
            written.append(f"wrote snapshot {SnapshotId(quorum.end_offset, 1)}")
            assert _snapshots_written(caplog) == written
            await trio.sleep(3 * HOUR_S - 1)
            assert _snapshots_written(caplog) == written, "there is nothing new"
    assert quorum.end_offset == 3


def _snapshots_written(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if message.startswith("wrote snapshot")]


def test_a_snapshot_is_written_after_a_while_if_there_is_anything_new(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """KIP-876: metadata.log.max.snapshot.interval.ms, however little there is."""
    caplog.set_level(logging.INFO)
    virtual_time.run(_hourly, tmp_path, caplog)


async def _no_snapshot_for_a_month(directory: Path) -> None:
    async with running(directory, policy=SnapshotPolicy(max_interval_ms=0), in_thread=at_once) as (quorum, _):
        for number in range(30):
            await quorum.committed(append(quorum, [topic(number)], 1))
            await trio.sleep(24 * HOUR_S)
        assert quorum.log.snapshot is None


def test_a_snapshot_interval_of_zero_is_never(tmp_path: Path) -> None:
    """KIP-876: with 0 only the bytes count."""
    virtual_time.run(_no_snapshot_for_a_month, tmp_path)


async def _restart(directory: Path, *script: FetchResponse) -> list[str]:
    """Return the topics of a follower once it has caught up with a leader that begins with ``script``."""
    async with follower_of(Leader([answer(), *script]), directory) as quorum:
        metadata = Metadata(quorum, World(in_thread=at_once), SnapshotPolicy())
        async with trio.open_nursery() as nursery:
            await nursery.start(metadata.run)
            with trio.fail_after(20):
                await metadata.caught_up()
            names = sorted(metadata.image.topic_ids)
            nursery.cancel_scope.cancel()
    return names


@pytest.mark.parametrize(
    "first",
    [answer(high_watermark=-1), answer(diverging_epoch=EpochEndOffset(EPOCH, 4), high_watermark=4)],
    ids=["a leader that has committed nothing yet", "one that has not looked at our log yet"],
)
def test_it_has_not_caught_up_before_the_leaders_high_watermark(tmp_path: Path, first: FetchResponse) -> None:
    """KIP-595: a high watermark is not durable. After a restart it is unknown until the leader has sent it, and a new
    leader has none before a record of its own epoch is committed. A broker that took the empty image for the whole
    metadata would set its partitions aside.
    """
    everything = ["t1", "t2", "t3"]
    assert virtual_time.run(_restart, tmp_path, answer(opening() + topics(1, 3), high_watermark=4)) == everything
    assert virtual_time.run(_restart, tmp_path, *[first] * 3, answer(high_watermark=4)) == everything


def test_it_has_not_caught_up_with_a_part_of_the_log(tmp_path: Path) -> None:
    """The leader's high watermark may be beyond the records of one Fetch response."""
    begins = answer(opening(), high_watermark=4)
    assert virtual_time.run(_restart, tmp_path, begins) == ["t1", "t2", "t3"]


async def _skip_by_a_snapshot(directory: Path) -> None:
    def made(number: int, key: int) -> list[object]:
        replicas = [1, 2]
        return [
            TopicRecord(f"t{number}", UUID(int=key)),
            PartitionRecord(0, UUID(int=key), replicas, isr=replicas, leader=1),
        ]

    (directory / "leader").mkdir()
    snapshots = MetadataSnapshots(str(directory / "leader"))
    written = [*made(1, 2001), *made(2, 1002), *made(9, 1009), RegisterBrokerRecord(broker_id=7)]
    snapshot = snapshots.write(replay(Image(), written, 19, EPOCH, 0)[0])
    offered = answer(snapshot_id=SnapshotOnTheWire(*snapshot), high_watermark=20)
    data, size = snapshots.read(snapshot, 0, 2**20)
    assert len(data) == size
    begins = answer(opening() + topics(1, 3), high_watermark=4)
    gate = trio.Event()

    def when_read(_: object) -> FetchResponse:
        return offered if gate.is_set() else answer(high_watermark=4)

    leader = Leader([answer(), begins, *[when_read] * 3, offered, piece(data, snapshot.end_offset)])
    (directory / "follower").mkdir()
    async with follower_of(leader, directory / "follower") as quorum, trio.open_nursery() as nursery:
        metadata = Metadata(quorum, World(in_thread=at_once), SnapshotPolicy())
        await nursery.start(metadata.run)
        with trio.fail_after(60):
            await metadata.replayed(4)
            reader = metadata.subscribe()
            gate.set()
            between, deletion = await reader.next()
            image, changes = await reader.next()
        nursery.cancel_scope.cancel()
    assert {topic.name for topic in deletion.topics_deleted.values()} == {"t1"}, "its name has a new topic"
    assert (image.offset, metadata.snapshots_loaded) == (19, 1)
    assert changes == difference(between, image)
    assert {topic.name for topic in changes.topics_deleted.values()} == {"t3"}
    assert changes.topics_created == {UUID(int=2001), UUID(int=1009)}
    assert changes.partitions == {UUID(int=key): {0} for key in (2001, 1002, 1009)}
    assert changes.brokers == {7}


def test_a_snapshot_in_place_of_records_is_its_difference_to_the_image_before(tmp_path: Path) -> None:
    """KIP-630: a follower too far behind gets a snapshot instead of the deleted records."""
    virtual_time.run(_skip_by_a_snapshot, tmp_path)


async def _wait_inside_a_batch(directory: Path) -> None:
    everything = answer(opening() + topics(1, 3), high_watermark=3)
    told = [answer(high_watermark=3)] * 20
    async with follower_of(Leader([answer(), everything, *told]), directory) as quorum, trio.open_nursery() as nursery:
        metadata = Metadata(quorum, World(in_thread=at_once), SnapshotPolicy())
        await nursery.start(metadata.run)
        with trio.fail_after(20):
            await quorum.committed(2)
            await trio.testing.wait_all_tasks_blocked()
            assert (quorum.high_watermark, metadata.next_offset) == (3, 1)
            await metadata.replayed(4)
        nursery.cancel_scope.cancel()


def test_a_high_watermark_inside_of_a_batch_is_waited_out(tmp_path: Path) -> None:
    """A batch is replayed as a whole. No leader commits a part of one, but its high watermark is only a number."""
    virtual_time.run(_wait_inside_a_batch, tmp_path)
