"""Logs that follow the metadata, and the files of an earlier run of the node."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID
from weakref import WeakSet

import pytest
import trio
import trio.testing

from kraft.broker.leadership import FollowerFetched
from kraft.config.properties import from_mapping
from kraft.messages.config_record import ConfigRecord
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.image import ResourceType
from kraft.replication import opener as opener_module
from kraft.replication.checkpoints import FILES, Checkpoints
from kraft.replication.maintenance import Maintenance
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection
from kraft.storage.checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    write_offsets,
)
from kraft.storage.directory import LastStop, LogDirectory, remove_retired
from kraft.storage.errors import StorageError
from kraft.storage.flush import Flush
from kraft.storage.meta_properties import MetaProperties
from kraft.storage.partition_metadata import read_topic_id
from kraft.testing.embedded import SETTINGS
from kraft.world.world import World
from tests.support.held import TOPIC, TOPIC_ID, broker_in, leader_in, registration, topic
from tests.support.nodes import node_in
from tests.support.steps import steps_of_this_task
from tests.support.talk import EARLIEST, batch, create, list_offset, produce, values


async def delete_records(broker: Connection, topic: str, offset: int) -> int:
    wanted = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    response = await broker.request(DeleteRecordsRequest(topics=[wanted]))
    assert response.topics[0].partitions[0].error_code == 0
    low_watermark: int = response.topics[0].partitions[0].low_watermark
    return low_watermark


async def delete_topic(broker: Connection, topic: str) -> None:
    response = await broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)]))
    assert response.responses[0].error_code == 0


async def test_deleted_records_stay_deleted_after_a_kill(tmp_path: Path) -> None:
    """KIP-107: records before the low watermark that was answered are gone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c"))
        assert await delete_records(first.broker, "topic", 2) == 2
        first.kill()
    async with node_in(tmp_path) as second:
        assert (await list_offset(second.broker, "topic", EARLIEST)).offset == 2


async def test_a_new_topic_inherits_no_start_offset_from_an_old_one_of_its_name(tmp_path: Path) -> None:
    """log-start-offset-checkpoint knows topics by name alone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"old", b"old", b"old"))
        await delete_records(first.broker, "topic", 3)
        await delete_topic(first.broker, "topic")
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c", b"d"))
        first.kill()
    async with node_in(tmp_path) as second:
        assert (await list_offset(second.broker, "topic", EARLIEST)).offset == 0
        assert await values(second.broker, "topic") == [b"a", b"b", b"c", b"d"]


async def test_checkpoints_of_topics_that_are_gone_are_forgotten_at_the_start(tmp_path: Path) -> None:
    """The node may be killed between a deletion and the next checkpoint."""
    async with node_in(tmp_path):
        pass
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n1\ntopic 0 3\n")
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
        await produce(first.broker, "topic", batch(b"a", b"b", b"c", b"d"))
        first.kill()
    async with node_in(tmp_path) as second:
        assert await values(second.broker, "topic") == [b"a", b"b", b"c", b"d"]


async def test_a_start_that_was_cut_short_is_no_damage(tmp_path: Path) -> None:
    """The metadata log is written to before the data logs are open and the mark of the clean stop is gone."""
    async with node_in(tmp_path) as first:
        await create(first.broker, "topic")
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    log = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes() + batch(b"torn")[:30])
    async with node_in(tmp_path) as second:
        assert await values(second.broker, "topic") == []


async def test_roles_of_a_former_incarnation_are_ignored(tmp_path: Path) -> None:
    """KIP-903: its log may have been longer than the one that is here now."""
    broker = broker_in(tmp_path, 1)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    assert not broker.partition.is_leader
    gained = (await broker.replicas.registered(9)).gained
    assert (gained, broker.partition.is_leader) == ([], False)
    moved = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2, isr=[2])
    await broker.hear(moved, registration(1, 9))
    assert list(broker.replicas.followed()) == [(2, broker.partition)]
    led = await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1, isr=[2, 1]))
    assert led.gained == [broker.partition]


async def test_a_broker_that_is_taken_off_the_replicas_lets_go_of_the_log(tmp_path: Path) -> None:
    """KIP-455: the end of a reassignment."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    partition = broker.partition
    off = PartitionChangeRecord(
        partition_id=0, topic_id=TOPIC_ID, replicas=[2], isr=[2], leader=2, directories=[UUID(int=100)]
    )
    assert (await broker.hear(off)).lost == [partition]
    assert not broker.replicas.holds(partition)
    assert not (tmp_path / "topic-0").exists()
    assert len(broker.replicas.retired) == 1


async def test_a_topic_that_was_made_anew_before_a_snapshot_begins_empty(tmp_path: Path) -> None:
    """KIP-516: a topic is identified by its id. A reader of snapshots gets no record about the deletion of the old
    one.
    """
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    old = broker.partition
    old.append(bytearray(batch(b"old")), 1000)
    anew, partition = topic(1, leader=1)
    anew.topic_id = partition.topic_id = UUID(int=78)
    result = await broker.hear_snapshot(registration(1, 5), anew, partition)
    assert (result.lost, result.gained) == ([old], [broker.partition])
    assert (broker.partition.topic_id, broker.values) == (UUID(int=78), [])
    assert len(broker.replicas.retired) == 1


async def test_partitions_that_left_before_a_snapshot_are_removed(tmp_path: Path) -> None:
    """KIP-630: a partition that was reassigned, and a broker that is registered no more, are not in the records."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), registration(2, 6), registration(3, 7), *topic(1, 2, leader=1))
    partition, roles_changed = broker.partition, broker.replicas.roles_changed
    assert (await broker.hear_snapshot(registration(1, 5), registration(2, 6), *topic(2, leader=2))).lost == [partition]
    assert not broker.replicas.holds(partition)
    assert roles_changed.is_set()
    assert sorted(broker.replicas.image.brokers) == [1, 2]


async def test_a_replica_begins_with_its_checkpointed_high_watermark(tmp_path: Path) -> None:
    """replication-offset-checkpoint"""
    first = broker_in(tmp_path, 1)
    await first.replicas.registered(5)
    await first.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    first.partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    first.partition.fetched(1.0, FollowerFetched(2, 6, 2, 0))
    assert first.partition.high_watermark == 2
    await first.replicas.checkpoints.write((HIGH_WATERMARK,))
    second = broker_in(tmp_path, 1)
    await second.replicas.load(first.loader.image)
    assert (second.partition.high_watermark, second.partition.log.log_end_offset) == (2, 3)


@pytest.mark.parametrize("is_emptied", [False, True])
async def test_a_log_without_a_topic_id_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_emptied: bool
) -> None:
    """LogManager.isStrayKraftReplica: a log without a topic id is a stray one. Its records may be those of a deleted
    topic of the same name. A power cut may empty the file, because the first flush makes it durable.
    """
    first = broker_in(tmp_path, 1)
    await first.replicas.registered(5)
    await first.hear(registration(1, 5), *topic(1, leader=1))
    first.partition.append(bytearray(batch(b"of a deleted topic")), 1000)
    identity = tmp_path / "topic-0" / "partition.metadata"
    identity.write_bytes(b"") if is_emptied else identity.unlink()
    second = broker_in(tmp_path, 1)
    await second.replicas.load(first.loader.image)
    assert (second.values, read_topic_id(tmp_path / "topic-0")) == ([], TOPIC_ID)
    (aside,) = [name for name in os.listdir(tmp_path) if name.endswith("-stray")]
    assert os.stat(tmp_path / aside / "00000000000000000000.log").st_size
    assert f"{tmp_path}/topic-0: no topic id, renamed to {tmp_path}/{aside}" in caplog.text


async def test_a_crash_during_a_deletion_leaves_no_checkpoint_to_the_next_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any order of checkpoint writes: once a directory belongs to the new topic, no file names the old one."""
    path = tmp_path / "data"
    path.mkdir()
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    broker.partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    broker.partition.log.delete_records(3)
    broker.partition.log.flush()
    await broker.replicas.checkpoints.write()
    crashes: list[Path] = []

    def crash() -> None:
        crashes.append(tmp_path / f"crash-{len(crashes)}")
        shutil.copytree(path, crashes[-1])

    def write_and_crash(file: str, offsets: Mapping[tuple[str, int], int]) -> None:
        crash()
        write_offsets(file, offsets)
        crash()

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write_and_crash)
    successor = [record.evolve(topic_id=UUID(int=78)) for record in topic(1, leader=1)]
    await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID), *successor)
    crash()
    assert len(crashes) > 2
    for each in crashes:
        if read_topic_id(each / "topic-0") == UUID(int=78):
            assert Checkpoints.read(str(each)) == Checkpoints({name: {} for name in FILES})
    assert read_topic_id(crashes[-1] / "topic-0") == UUID(int=78)


async def test_a_checkpoint_beyond_the_end_of_a_log_is_lowered_at_the_start(tmp_path: Path) -> None:
    """A power cut took the end of the log. After the log has grown again, "recovered up to 9" would cover new records
    that were never flushed.
    """
    first = broker_in(tmp_path, 1)
    await first.replicas.registered(5)
    await first.hear(registration(1, 5), *topic(1, leader=1))
    first.partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    for name in FILES:
        write_offsets(tmp_path / name, {("topic", 0): 2 if name == LOG_START_OFFSET else 9})
    second = broker_in(tmp_path, 1)
    await second.replicas.load(first.loader.image)
    written = Checkpoints.read(str(tmp_path))
    assert [written.offset(name, ("topic", 0)) for name in FILES] == [3, 2, 3, 3]


async def test_a_full_disk_keeps_no_topic_from_being_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entries of its checkpoints go with the next change of the metadata."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    await broker.replicas.checkpoints.write()

    def full(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kraft.replication.checkpoints.write_offsets", full)
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert not (tmp_path / "topic-0").exists()
    assert Checkpoints.read(str(tmp_path)).files[FILES[0]]
    await broker.hear(registration(2, 6))
    assert not Checkpoints.read(str(tmp_path)).files[FILES[0]]


async def test_a_leader_gets_changed_settings_and_brokers(tmp_path: Path) -> None:
    """KIP-966: fewer members than min.insync.replicas commit nothing; so does a follower that is about to join."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    two = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="topic", name="min.insync.replicas", value="2")
    out_of_sync = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1])
    await broker.hear(registration(1, 5), registration(2, 6), two, *topic(1, 2, leader=1), out_of_sync)
    broker.partition.append(bytearray(batch(b"a")), 1000)
    broker.partition.fetched(broker.replicas.world.clock.now_s(), FollowerFetched(2, 6, 1, 0))
    broker.partition.append(bytearray(batch(b"b")), 1000)
    assert broker.partition.high_watermark == 0
    leadership = broker.partition.leadership
    assert leadership is not None
    assert leadership.pending is not None
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))
    await broker.hear(two.evolve(value="1"))
    assert broker.partition.high_watermark == 1
    await broker.hear(FenceBrokerRecord(id=2, epoch=6))
    assert broker.partition.high_watermark == 2


async def test_a_deletion_does_not_wait_for_a_broker_that_is_fenced_meanwhile(tmp_path: Path) -> None:
    """``HostedPartition.deleted``: "once every live replica's log begins at ``offset``". The replica was out of sync
    before its broker died, so its partition does not change.
    """
    async with leader_in(tmp_path, 1, 1, 2) as broker:
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))
        broker.partition.append(bytearray(batch(b"a", b"b")), 1000)
        broker.partition.log.delete_records(1)
        found: list[int] = []

        async def delete() -> None:
            found.append(await broker.partition.deleted(1))

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(delete)
                await trio.testing.wait_all_tasks_blocked()
                assert not found
                await broker.hear(FenceBrokerRecord(id=2, epoch=6))
        assert found == [1]


async def test_a_wait_for_commits_ends_when_more_replicas_must_be_in_sync(tmp_path: Path) -> None:
    """``committed_or_stalled``: "below ``min.insync.replicas`` the high watermark stays". A coordinator loads then."""
    async with leader_in(tmp_path, 1, 1, 2, 3) as broker:
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1, 2]))
        broker.partition.append(bytearray(batch(b"a")), 1000)
        three = ConfigRecord(
            resource_type=ResourceType.TOPIC, resource_name=TOPIC, name="min.insync.replicas", value="3"
        )
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(broker.partition.committed_or_stalled, 1)
                await trio.testing.wait_all_tasks_blocked()
                await broker.hear(three)


async def test_a_start_offset_that_was_lowered_for_nothing_is_not_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full after the start offset's file, so there was no truncation: the next Fetch must not report the
    start.
    """
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    broker.partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    broker.partition.log.delete_records(2)
    assert not broker.partition.is_start_durable
    await broker.replicas.checkpoints.write((LOG_START_OFFSET,))
    assert broker.partition.is_start_durable

    def full(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        if path.endswith(HIGH_WATERMARK):
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    with monkeypatch.context() as patch:
        patch.setattr("kraft.replication.checkpoints.write_offsets", full)
        with pytest.raises(OSError, match="No space"):
            async with broker.replicas.checkpoints.cutting(broker.partition, 1):
                raise AssertionError("the block is not reached")
    assert Checkpoints.read(str(tmp_path)).offset(LOG_START_OFFSET, ("topic", 0)) == 1
    assert not broker.partition.is_start_durable
    await broker.replicas.checkpoints.write((LOG_START_OFFSET,))
    assert broker.partition.is_start_durable


async def test_a_log_that_a_power_cut_shortened_below_its_start_continues_there(tmp_path: Path) -> None:
    """docs/robustness/files.md: "the node drops its records, and the next record gets the start offset". The high
    watermark is there, too, and the checkpoints claim no more.
    """
    path, copied = tmp_path / "data", tmp_path / "copied"
    path.mkdir()
    async with leader_in(path, 1) as broker:
        for number in range(4):
            broker.partition.append(bytearray(batch(b"%d" % number)), 1000)
        broker.partition.log.delete_records(4)
        broker.partition.cleaned_offset = 3
        await broker.replicas.checkpoints.write()
        shutil.copytree(path, copied)
    os.truncate(copied / f"{TOPIC}-0" / f"{0:020}.log", len(batch(b"0")))
    again = broker_in(copied, 1)
    again.replicas.directories[0].last_stop = LastStop.POWER_LOST
    await again.replicas.load(broker.loader.image)
    partition = again.partition
    assert (partition.log.log_start_offset, partition.log.log_end_offset, partition.high_watermark) == (4, 4, 4)
    assert partition.is_start_durable
    assert not again.replicas.checkpoints.are_outdated
    await again.replicas.registered(5)
    assert partition.append(bytearray(batch(b"new")), 1000).base_offset == 4
    assert (again.values, partition.high_watermark) == ([b"new"], 5)
    partition.log.abandon()


async def test_a_new_topic_gets_no_checkpoint_that_a_full_disk_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill it would begin at the log start of the deleted topic of its name, and lose the records before it. A
    file without an entry of that name stays.
    """
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    broker.partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    broker.partition.log.delete_records(3)
    await broker.replicas.checkpoints.write()
    assert not Checkpoints.read(str(tmp_path)).files[CLEANER_OFFSET]

    def full(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", full)
    await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    await broker.hear(*[record.evolve(topic_id=UUID(int=78)) for record in topic(1, leader=1)])
    broker.partition.append(bytearray(batch(b"w", b"x", b"y", b"z")), 1000)
    assert [name for name in FILES if (tmp_path / name).exists()] == [CLEANER_OFFSET]
    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write_offsets)
    killed = broker_in(tmp_path, 1)
    await killed.replicas.load(broker.loader.image)
    assert killed.values == [b"w", b"x", b"y", b"z"]


async def test_two_logs_of_one_partition_end_the_start(tmp_path: Path) -> None:
    """Kafka's ``LogManager`` refuses duplicate log directories: a replica moved between directories may be in both, and
    only a person knows which one is whole.
    """
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.mkdir()
        one = broker_in(path, 1)
        await one.replicas.registered(5)
        await one.hear(registration(1, 5), *topic(1, leader=1))
        one.partition.append(bytearray(batch(b"record")), 1000)
        one.partition.log.close()
    directories = [_directory(path) for path in paths]
    both = Replicas(1, World(), directories, {})
    with pytest.raises(StorageError, match=f"{paths[1]}/topic-0: {paths[0]}/topic-0 is a log of the same partition"):
        await both.load(one.loader.image)
    assert all((path / "topic-0").is_dir() for path in paths)


def _directory(path: Path) -> LogDirectory:
    return LogDirectory(str(path), -1, MetaProperties("cluster", 1), LastStop.CLEAN)


async def test_many_new_partitions_let_other_tasks_run(tmp_path: Path) -> None:
    """A leader of the quorum that opens thousands of logs in one step answers no Fetch meanwhile, and is deposed."""
    rounds = 0

    async def other_task() -> None:
        nonlocal rounds
        while True:
            await trio.lowlevel.checkpoint()
            rounds += 1

    broker = broker_in(tmp_path, 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other_task)
        await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
        assert rounds >= 5
        nursery.cancel_scope.cancel()
    assert len(broker.replicas.partitions["topic"]) == 100


async def test_new_partitions_go_to_the_directory_with_the_fewest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LogManager.nextLogDirs. To count all partitions for each new one would take seconds for 10,000 of them."""
    broker, looked = broker_in(tmp_path / "a", 1), 0
    for name in "abc":
        (tmp_path / name).mkdir()
    broker.replicas.directories += [_directory(tmp_path / name) for name in "bc"]
    await broker.replicas.registered(11)
    all_of = Replicas.all

    def counted(replicas: Replicas) -> Iterator[HostedPartition]:
        nonlocal looked
        for partition in all_of(replicas):
            looked += replicas is broker.replicas  # a cluster in another thread has some, too
            yield partition

    def held() -> list[int]:
        paths = [os.path.dirname(each.log.directory) for each in all_of(broker.replicas)]
        return [paths.count(str(tmp_path / name)) for name in "abc"]

    monkeypatch.setattr(Replicas, "all", counted)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
    assert held() == [34, 33, 33]
    assert looked <= 3 * 100
    off = [PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, replicas=[2]) for index in range(0, 60, 3)]
    await broker.hear(*off)
    assert held() == [14, 33, 33]
    other = [record.evolve(topic_id=UUID(int=78)) for record in topic(1, leader=1, partitions=31)]
    await broker.hear(other[0].evolve(name="other"), *other[1:])
    assert held() == [37, 37, 37]


async def test_the_roles_of_many_partitions_let_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that registers takes the roles of all its partitions at once: 15,000 would hold the loop for 45 ms."""
    monkeypatch.setattr("kraft.replication.replicas._CONDITIONS_IN_A_ROW", 10)
    broker = broker_in(tmp_path, 1)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
    async with steps_of_this_task() as steps:
        led = await broker.replicas.registered(11)
    assert steps.count >= 100 // 10
    assert led.gained == list(broker.replicas.all())


async def test_many_deleted_partitions_let_other_tasks_run(tmp_path: Path) -> None:
    """The deletion of 15,000 partitions would hold the event loop for 0.4 s."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
    held = list(broker.replicas.all())
    async with steps_of_this_task() as steps:
        led = await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert steps.count >= 2 * 100 // 10, "to close the logs, and to rename them"
    assert (led.lost, list(broker.replicas.all()), len(broker.replicas.retired)) == (held, [], 100)
    assert all(partition.log.is_closed and not partition.is_leader for partition in held)


async def test_a_directory_that_is_renamed_during_a_removal_waits_for_the_next_one(tmp_path: Path) -> None:
    """``file.delete.delay.ms`` passes between the rename of a deleted partition's directory and its removal.
    Maintenance removes earlier ones while the rename runs on a thread.
    """
    rename_began, removal_began, rename_ended = trio.Event(), trio.Event(), trio.Event()
    removed = []

    async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
        if work is remove_retired:
            removal_began.set()
            await rename_ended.wait()
            removed.append(*arguments)
            return None
        if work is opener_module._rename_all:
            rename_began.set()
            await removal_began.wait()
        return work(*arguments)

    world = World(in_thread=in_thread, compute=in_thread)
    broker = broker_in(tmp_path, 1, world)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1))
    broker.replicas.retired = ["earlier"]
    maintenance = Maintenance(from_mapping(SETTINGS).config, world, broker.replicas)
    async with trio.open_nursery() as nursery:

        async def delete() -> None:
            await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
            rename_ended.set()

        nursery.start_soon(delete)
        await rename_began.wait()
        nursery.start_soon(maintenance.remove_deleted)
    assert removed == ["earlier"]
    assert [os.path.basename(path).partition(".")[0] for path in broker.replicas.retired] == ["topic-0"]


class Freed(trio.abc.Instrument):
    """The most partitions that one step of a task frees."""

    def __init__(self, partitions: Iterable[HostedPartition]) -> None:
        self.alive = WeakSet(partitions)
        self.before = len(self.alive)
        self.most = 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.most = max(self.most, self.before - len(self.alive))
        self.before = len(self.alive)


@pytest.mark.parametrize("leader", [1, 2], ids=["leader", "follower"])
async def test_the_memory_of_many_deleted_partitions_is_freed_in_slices(tmp_path: Path, leader: int) -> None:
    """LeaderChanges.forget: 15,000 partitions whose last reference goes at once are a step of 33 ms."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), registration(2, 12), *topic(1, 2, leader=leader, partitions=500))
    freed = Freed(broker.replicas.all())
    trio.lowlevel.add_instrument(freed)
    await (await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))).forget()
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(freed)
    assert (len(freed.alive), freed.most <= 200) == (0, True)


async def test_new_conditions_of_many_partitions_let_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that comes or goes changes the conditions of all partitions; a setting, those of its topic."""
    monkeypatch.setattr("kraft.replication.replicas._CONDITIONS_IN_A_ROW", 10)
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
    setting = ConfigRecord(
        resource_type=ResourceType.TOPIC, resource_name="topic", name="min.insync.replicas", value="2"
    )
    for record in (registration(2, 12), setting):
        async with steps_of_this_task() as steps:
            await broker.hear(record)
        assert steps.count >= 100 // 10


async def test_checkpoints_of_many_partitions_let_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offsets are read in slices. A partition that is deleted meanwhile keeps no entry."""
    monkeypatch.setattr("kraft.replication.checkpoints._PARTITIONS_IN_A_ROW", 10)
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=100))
    for names in (FILES, (HIGH_WATERMARK,)):
        async with steps_of_this_task() as steps:
            await broker.replicas.checkpoints.write(names)
        assert steps.count >= 100 // 10
    assert {len(Checkpoints.read(str(tmp_path)).files[name]) for name in FILES if name != CLEANER_OFFSET} == {100}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(broker.replicas.checkpoints.write)
        await trio.lowlevel.checkpoint()
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert not any(Checkpoints.read(str(tmp_path)).files.values())


async def test_a_topic_that_is_deleted_and_created_again_in_one_image_begins_empty(tmp_path: Path) -> None:
    """Other tasks run in between. The old logs are renamed before the new ones are opened."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(11)
    old = topic(1, leader=1, partitions=20)
    await broker.hear(registration(1, 11), *old)
    for partition in broker.replicas.all():
        partition.append(bytearray(batch(b"old")), 0)
    new_id = UUID(int=TOPIC_ID.int + 1)
    new = [record.evolve(topic_id=new_id) for record in old]
    await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID), *new)
    assert {(each.topic_id, each.log.log_end_offset) for each in broker.replicas.all()} == {(new_id, 0)}
    assert len(broker.replicas.retired) == 20


async def test_a_controlled_stop_syncs_logs_together_and_beside_the_event_loop(tmp_path: Path) -> None:
    """LogManager.shutdown closes logs with a pool of threads. One after the other, 5,000 logs took a minute."""
    running, together, names = 0, 0, []

    async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal running, together
        running += 1
        together = max(together, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        names.append(work.__name__)
        return work(*arguments)

    broker = broker_in(tmp_path, 1)
    broker.replicas.world = World(in_thread=in_thread)
    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=20))
    for partition in broker.replicas.all():
        partition.append(bytearray(batch(b"a")), 0)
    names.clear()
    await broker.replicas.close()
    assert together == 8
    assert names.count("sync_now") == 20
    assert all(each.log.is_closed and each.log.recovery_point == 1 for each in broker.replicas.all())
    recovery_points = Checkpoints.read(str(tmp_path)).files[RECOVERY_POINT]
    assert recovery_points == {("topic", index): 1 for index in range(20)}


async def test_a_failed_sync_at_the_stop_is_an_error_once_the_others_have_ended(tmp_path: Path) -> None:
    """The stop is not clean then, and the next start recovers. A deleted partition needs no sync."""
    broker = broker_in(tmp_path, 1)

    def sync(flush: Flush) -> None:
        name = Path(flush.directories[0]).name
        if name == "topic-7":
            raise OSError(errno.EIO, "Input/output error")
        if name == "topic-8":
            del broker.replicas.partitions["topic"][8]
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        flush.run()

    await broker.replicas.registered(11)
    await broker.hear(registration(1, 11), *topic(1, leader=1, partitions=20))
    for partition in broker.replicas.all():
        partition.append(bytearray(batch(b"a")), 0)
        partition.log.segments.moved = True
    broker.replicas.world = World(sync=cast(Any, sync))
    with pytest.raises(OSError, match="Input/output error"):
        await broker.replicas.close()
    assert [each.index for each in broker.replicas.all() if each.log.recovery_point == 0] == [7]
    assert broker.replicas.partitions["topic"][7].log.failure is not None
