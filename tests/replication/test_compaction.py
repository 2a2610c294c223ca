"""Compaction as clients see it: the last value of each key stays, at its own offset."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import threading
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import attrs
import pytest
import trio

from kraft.config.properties import from_mapping
from kraft.messages.config_record import ConfigRecord
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.records.batch import HEADER_SIZE, iter_headers
from kraft.records.record import Record, encode_batch, read_records
from kraft.replication.compaction import Compaction
from kraft.replication.maintenance import Maintenance
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection, connect
from kraft.storage.cleaner import Cleaned, Cleaning
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.log import Log
from kraft.storage.meta_properties import MetaProperties
from kraft.storage.opening import RECORDS_PER_SLICE
from kraft.storage.segment import Segment
from kraft.testing import embedded_node
from kraft.testing.embedded import SETTINGS as EMBEDDED
from kraft.world.world import World
from tests.storage.logs import append, config, values
from tests.support.eventually import until
from tests.support.held import TOPIC as TOPIC_NAME
from tests.support.held import TOPIC_ID, Broker, broker_in, registration, topic

TOPIC = "latest"
SETTINGS = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}


async def produce(connection: Connection, records: list[tuple[bytes, bytes]]) -> None:
    batch = encode_batch([Record(n, 1_000 + n, key, value, ()) for n, (key, value) in enumerate(records)])
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(0, batch)])
    response = await connection.request(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]), version=9)
    assert response.responses[0].partition_responses[0].error_code == 0


async def read_all(connection: Connection) -> list[tuple[int, bytes | None]]:
    """(offset, key) of everything that can be fetched."""
    found: list[tuple[int, bytes | None]] = []
    offset = 0
    while True:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=TOPIC, partitions=[wanted])])
        response = await connection.request(request, version=12)
        records = response.responses[0].partitions[0].records
        if not records:
            return found
        for position, header in iter_headers(records):
            found += [(each.offset, each.key) for each in read_records(records, position, header, max_bytes=1 << 24)]
            offset = header.next_offset


async def test_only_the_last_record_of_each_key_stays_in_sealed_segments() -> None:
    """log.cleaner.enable and cleanup.policy=compact: "the last value of each key"; offsets never change."""
    topic = CreatableTopic(
        name=TOPIC,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in SETTINGS.items()],
    )
    async with embedded_node(settings={"log.cleaner.backoff.ms": "50"}) as node:
        host, _, port = node.bootstrap_servers.rpartition(":")
        async with connect(host, int(port), client_id="test") as connection:
            created = await connection.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            assert created.topics[0].error_code == 0
            for _ in range(5):
                await produce(connection, [(b"key-%d" % n, b"x" * 40_000) for n in range(20)])
            with trio.fail_after(30):
                found = await read_all(connection)
                while len(found) > 40:
                    found = await read_all(connection)
    # The newest round is in the active segment, which is never compacted; of the rest one record a key is left.
    assert [offset for offset, _ in found[-20:]] == list(range(80, 100))
    assert {key for _, key in found} == {b"key-%d" % n for n in range(20)}


async def test_a_new_topic_of_an_old_name_is_compacted_from_its_own_start(tmp_path: Path) -> None:
    """``cleaner-offset-checkpoint`` is of the log that was compacted, not of whatever has its name later."""
    world, directory = World(), LogDirectory(str(tmp_path), -1, MetaProperties("cluster", 1), LastStop.CLEAN)
    replicas = Replicas(1, world, [directory], {})
    cleaner = Compaction(from_mapping({**EMBEDDED, "log.dirs": str(tmp_path)}).config, world, replicas, trio.Event())

    def host() -> Log:
        log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact"), now_ms=0)
        for value in (b"old", b"new"):
            buffer = encode_batch([Record(0, 1_000, b"key", value)])
            append(log, bytearray(buffer))
        log.roll()
        state = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=())
        replicas.partitions["topic"] = {0: HostedPartition("topic", uuid4(), 0, log, state, log.log_end_offset)}
        return log

    for _ in range(2):
        log = host()
        assert await cleaner.clean_one()
        assert values(log) == [b"new"]
        log.abandon()
        os.rename(log.directory, tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")


def write(broker: Broker, *records: tuple[bytes, bytes | None], index: int = 0) -> None:
    """Append each (key, value) as a batch of its own to a partition, and seal the segment."""
    partition = broker.replicas.partitions[TOPIC_NAME][index]
    for key, value in records:
        partition.append(bytearray(encode_batch([Record(0, 1_000, key, value)])), 1_000)
    partition.log.roll()


COMPACTED = ConfigRecord(resource_type=2, resource_name="topic", name="cleanup.policy", value="compact")


async def leading(path: Path, partitions: int = 1) -> Broker:
    """A broker that leads a compacted topic, as its only replica."""
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1, partitions=partitions), COMPACTED)
    return broker


def cleaner_of(broker: Broker, path: Path) -> Compaction:
    loaded = from_mapping({**EMBEDDED, "log.dirs": str(path), "log.cleaner.backoff.ms": "10"})
    return Compaction(loaded.config, broker.replicas.world, broker.replicas, trio.Event())


async def compacted_to(broker: Broker, path: Path, *expected: bytes | None) -> None:
    """Let the cleaner run, as it does from a node's start on, until the log has these values."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cleaner_of(broker, path).run)
        await until(lambda: values(broker.partition.log) == list(expected))
        nursery.cancel_scope.cancel()


async def test_a_deleted_key_does_not_come_back_in_a_new_topic_of_an_old_name(tmp_path: Path) -> None:
    """LogManager.asyncDelete: "cleaner.updateCheckpoints(removedLog.parentDirFile, partitionToRemove)". The records of
    the new log that lie below the old log's entry were never compacted."""
    first = await leading(tmp_path)
    write(first, (b"a", b"1"), (b"a", b"2"))
    assert await cleaner_of(first, tmp_path).clean_one()
    await first.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    successor = [record.evolve(topic_id=UUID(int=78)) for record in topic(1, leader=1)]
    await first.hear(*successor, COMPACTED)
    write(first, (b"key", b"old"), (b"key", None))
    second = broker_in(tmp_path, 1)
    await second.replicas.load(first.loader.image)
    await second.replicas.registered(5)
    await compacted_to(second, tmp_path, None)


async def test_records_after_a_truncation_are_not_compacted_yet(tmp_path: Path) -> None:
    """LogCleanerManager.maybeTruncateCheckpoint: the cleaner had come further than the log was then cut to."""
    broker = await leading(tmp_path)
    write(broker, (b"a", b"0"), (b"a", b"1"), (b"a", b"2"), (b"a", b"3"))
    cleaner = cleaner_of(broker, tmp_path)
    assert await cleaner.clean_one()
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=NO_LEADER))
    broker.partition.truncate_to(1, 1_000)
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1))
    write(broker, (b"key", b"old"), (b"key", None), (b"other", b"x"))
    assert await cleaner.clean_one()
    assert values(broker.partition.log) == [None, b"x"]


async def test_the_cleaner_s_thread_lets_go_of_the_interpreter(tmp_path: Path) -> None:
    """And only that thread: the event loop never sleeps."""
    broker = await leading(tmp_path)
    write(broker, *[(b"a", b"%d" % number) for number in range(RECORDS_PER_SLICE)])
    threads: set[int] = set()
    world = World(let_go=lambda: threads.add(threading.get_ident()))
    cleaner = attrs.evolve(cleaner_of(broker, tmp_path), world=world)
    assert await cleaner.clean_one()
    assert values(broker.partition.log) == [b"%d" % (RECORDS_PER_SLICE - 1)]
    assert threads
    assert threading.get_ident() not in threads


async def test_a_compaction_that_a_cut_overtook_leaves_no_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recovery takes a .cleaned file for a compaction that was cut off, and deletes the .swap files behind it."""
    broker = await leading(tmp_path)
    write(broker, (b"a", b"0"), (b"a", b"1"))
    run = Cleaning.run

    def run_and_cut(self: Cleaning, *arguments: Any) -> Cleaned:
        cleaned = run(self, *arguments)
        broker.partition.truncate_to(1, 1_000)
        return cleaned

    monkeypatch.setattr(Cleaning, "run", run_and_cut)
    assert await cleaner_of(broker, tmp_path).clean_one()
    assert values(broker.partition.log) == [b"0"]
    assert not [name for name in os.listdir(broker.partition.log.directory) if name.endswith(".cleaned")]


async def test_compacted_segments_stay_before_the_cleaners_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LocalLog.replaceSegments ends with Utils.flushDir. Had a power cut undone the renames alone, the old segments
    would count as compacted."""
    broker = await leading(tmp_path)
    write(broker, (b"a", b"0"), (b"a", b"1"))
    synced: list[str] = []
    fsync = os.fsync

    def note_and_sync(fd: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note_and_sync)
    assert await cleaner_of(broker, tmp_path).clean_one()
    assert "topic-0" in synced[: synced.index("cleaner-offset-checkpoint.tmp")]


async def test_retention_waits_for_a_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LogCleanerManager gives a log to the cleaner or to retention. Without the first segment the copies would be
    thrown away, again and again if compaction takes longer than ``log.retention.check.interval.ms``."""
    broker = await leading(tmp_path)
    log = broker.partition.log
    write(broker, (b"a", b"0"))
    write(broker, (b"key", b"old"), (b"key", None))
    log.delete_records(1)
    cleaner = cleaner_of(broker, tmp_path)
    upkeep = Maintenance(cleaner.config, cleaner.world, broker.replicas)
    run = Cleaning.run

    def run_beside_retention(self: Cleaning, *arguments: Any) -> Cleaned:
        trio.from_thread.run(upkeep.delete_old_segments)
        return run(self, *arguments)

    monkeypatch.setattr(Cleaning, "run", run_beside_retention)
    assert await cleaner.clean_one()
    assert values(log) == [None]
    assert [segment.base_offset for segment in log.segments] == [0, 3]


async def test_a_topic_recreated_while_the_node_was_down_is_compacted_from_its_own_start(tmp_path: Path) -> None:
    """LogCleanerManager drops the entry of a partition that is gone: else the records before it would stay for ever."""
    first = await leading(tmp_path)
    write(first, (b"a", b"1"), (b"a", b"2"))
    assert await cleaner_of(first, tmp_path).clean_one()
    assert "topic 0 2" in (tmp_path / "cleaner-offset-checkpoint").read_text()
    while_down = Broker(broker_in(tmp_path / "elsewhere", 1).replicas, first.loader)
    (tmp_path / "elsewhere").mkdir()
    successor = [record.evolve(topic_id=UUID(int=78)) for record in topic(1, leader=1)]
    await while_down.hear(RemoveTopicRecord(topic_id=TOPIC_ID), *successor, COMPACTED)
    second = broker_in(tmp_path, 1)
    await second.replicas.load(while_down.loader.image)
    await second.replicas.registered(5)
    write(second, (b"key", b"old"), (b"key", b"new"))
    await compacted_to(second, tmp_path, b"new")


async def test_a_deleted_topic_leaves_the_cleaner_s_checkpoint(tmp_path: Path) -> None:
    broker = await leading(tmp_path)
    write(broker, (b"a", b"1"), (b"a", b"2"))
    assert await cleaner_of(broker, tmp_path).clean_one()
    await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n0\n"


def erase_header(segment: Segment, number: int) -> None:
    """Write zeros over the header of one of the segment's batches."""
    position = next(islice(segment.headers(), number, None))[0]
    with open(segment.path, "r+b") as file:
        file.seek(position)
        file.write(bytes(HEADER_SIZE))


@pytest.mark.parametrize("number", [0, 1])
async def test_a_damaged_batch_keeps_the_cleaner_from_its_own_log_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    """``LogCleanerManager.grabFilthiestCompactedLog`` throws LogCleaningException for the partition, and the cleaner
    thread answers it with markPartitionUncleanable."""
    broker = await leading(tmp_path, partitions=2)
    for index in (0, 1):
        write(broker, (b"a", b"0"), (b"a", b"1"), index=index)
    damaged, sound = (broker.replicas.partitions[TOPIC_NAME][index].log for index in (0, 1))
    segment = damaged.segments[0]
    erase_header(segment, number)
    segment.first_timestamp = None  # as after a start, which does not read the first batch of a sealed segment
    cleaner = cleaner_of(broker, tmp_path)
    while await cleaner.clean_one():
        pass
    assert values(sound) == [b"1"]
    assert not await cleaner.clean_one()
    assert [record.getMessage() for record in caplog.records if record.name == "kraft.compaction"] == [
        f"topic-0: the log cleaner skips it until the next start: {segment.path}: message format 0 is not supported"
    ]


async def test_a_failure_of_the_cleaner_keeps_it_from_one_log_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """``LogCleaner.CleanerThread.tryCleanFilthiestLog`` catches any LogCleaningException. Its cause may be a defect,
    which all replicas of the partition have.
    """
    broker = await leading(tmp_path, partitions=2)
    for index in (0, 1):
        write(broker, (b"a", b"0"), (b"a", b"1"), index=index)
    defective = broker.replicas.partitions[TOPIC_NAME][0].log.segments[0].path
    run = Cleaning.run

    def fail(cleaning: Cleaning, *arguments: Any) -> Any:
        if cleaning.segments[0].path == defective:
            raise struct.error("int too large to convert")
        return run(cleaning, *arguments)

    monkeypatch.setattr(Cleaning, "run", fail)
    cleaner = cleaner_of(broker, tmp_path)
    while await cleaner.clean_one():
        pass
    assert values(broker.replicas.partitions[TOPIC_NAME][1].log) == [b"1"]
    assert "topic-0: the log cleaner skips it until the next start" in caplog.text


async def test_a_log_that_cannot_be_read_now_is_compacted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of the disk ends neither the node nor the compaction of this log for ever."""
    broker = await leading(tmp_path)
    write(broker, (b"a", b"0"), (b"a", b"1"))
    path = broker.partition.log.segments[0].path

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error", path)

    cleaner = cleaner_of(broker, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Segment, "age_ms", fail)
        assert not await cleaner.clean_one()
    assert f"topic-0 cannot be compacted now: [Errno 5] Input/output error: '{path}'" in caplog.text
    assert await cleaner.clean_one()
    assert values(broker.partition.log) == [b"1"]
