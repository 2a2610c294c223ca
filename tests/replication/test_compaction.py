"""Compaction as clients see it: the last value of each key stays, at its own offset."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import uuid4

import attrs
import trio

from kraft.config.properties import from_mapping
from kraft.messages.config_record import ConfigRecord
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.image import ResourceType
from kraft.metadata.partitions import Partition
from kraft.records.batch import iter_headers
from kraft.records.record import Record, encode_batch, read_records
from kraft.replication.compaction import Compaction
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connection, connect
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.log import Log
from kraft.storage.meta_properties import MetaProperties
from kraft.testing import embedded_node
from kraft.testing.embedded import SETTINGS as EMBEDDED
from kraft.world.world import World
from tests.storage.logs import append, config, values
from tests.support.clusters import until
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


async def test_a_topic_recreated_while_the_node_was_down_is_compacted_from_its_own_start(tmp_path: Path) -> None:
    """LogCleanerManager drops the entry of a partition that is gone: else the records before it would stay for ever."""
    first = broker_in(tmp_path, 1)
    first.replicas.registered(5)
    compact = ConfigRecord(
        resource_type=ResourceType.TOPIC, resource_name="topic", name="cleanup.policy", value="compact"
    )
    await first.hear(registration(1, 5), compact, *topic(1, leader=1))
    _write_twice(first.partition)
    assert await _compaction(first, tmp_path).clean_one()
    assert first.values == [b"new"]
    assert "topic 0 2" in (tmp_path / "cleaner-offset-checkpoint").read_text()
    while_down = Broker(broker_in(tmp_path / "elsewhere", 1).replicas, first.loader)
    (tmp_path / "elsewhere").mkdir()
    named, partition = topic(1, leader=1)
    other = uuid4()
    recreated = (attrs.evolve(named, topic_id=other), attrs.evolve(partition, topic_id=other))
    await while_down.hear(RemoveTopicRecord(topic_id=TOPIC_ID), compact, *recreated)
    second = broker_in(tmp_path, 1)
    await second.replicas.load(while_down.loader.image)
    second.replicas.registered(5)
    _write_twice(second.partition)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_compaction(second, tmp_path).run)
        await until(lambda: second.values == [b"new"], timeout_s=10)
        nursery.cancel_scope.cancel()


async def test_a_deleted_topic_leaves_the_cleaner_s_checkpoint(tmp_path: Path) -> None:
    broker = broker_in(tmp_path, 1)
    broker.replicas.registered(5)
    compact = ConfigRecord(
        resource_type=ResourceType.TOPIC, resource_name="topic", name="cleanup.policy", value="compact"
    )
    await broker.hear(registration(1, 5), compact, *topic(1, leader=1))
    _write_twice(broker.partition)
    assert await _compaction(broker, tmp_path).clean_one()
    await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n0\n"


def _compaction(broker: Broker, directory: Path) -> Compaction:
    config = from_mapping({**EMBEDDED, "log.dirs": str(directory), "log.cleaner.backoff.ms": "10"}).config
    return Compaction(config, broker.replicas.world, broker.replicas, trio.Event())


def _write_twice(partition: HostedPartition) -> None:
    """Two records of one key, in a segment that is sealed."""
    for value in (b"old", b"new"):
        partition.append(bytearray(encode_batch([Record(0, 1_000, b"key", value)])), 1_000)
    partition.log.roll()
