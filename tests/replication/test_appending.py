"""Batches that are opened before the append: where the work is done, and what may change meanwhile."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
import trio
import trio.testing

from kraft.api.produce import at_broker
from kraft.messages.config_record import ConfigRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.produce_response import ProduceResponse
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import ResourceType
from kraft.records import compression as codecs
from kraft.records.compression import Compression
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch
from kraft.replication.appending import LongAppend, append_produced
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.storage.flush import Flush
from kraft.storage.log import AppendInfo
from kraft.storage.opening import RECORDS_PER_SLICE, SMALL_BYTES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.world.world import World
from tests.records.strategies import forge
from tests.support.held import TOPIC, TOPIC_ID, Broker, broker_in, registration, serving, topic
from tests.support.steps import steps_of_this_task
from tests.support.talk import produce_request

PRODUCE_VERSION = 12
NOW_MS = 1_000_000


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    log = broker.partition.log
    await broker.replicas.make_ids_durable([broker.partition])
    yield broker
    log.abandon()


async def configure(broker: Broker, name: str, value: str) -> None:
    await broker.hear(ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=TOPIC, name=name, value=value))


def batch(count: int, size: int, *, sequence: int = 0, compression: Compression = Compression.NONE) -> bytes:
    records = [Record(offset, NOW_MS, b"key", bytes(size)) for offset in range(count)]
    return encode_batch(records, producer_id=7, producer_epoch=0, base_sequence=sequence, compression=compression)


def unopened(broker: Broker, records: bytes) -> LongAppend:
    result = append_produced(broker.partition, records, PRODUCE_VERSION, NOW_MS)
    assert isinstance(result, LongAppend)
    assert broker.partition.log.log_end_offset == 0
    return result


@attrs.define
class Computing:
    """Stands for the worker threads. Calls ``meanwhile`` while the first of them computes."""

    meanwhile: Callable[[], Any] = lambda: None
    calls: int = 0

    async def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.calls += 1
        await trio.lowlevel.checkpoint()
        if self.calls == 1:
            self.meanwhile()
        return work(*arguments)


async def test_most_batches_are_appended_at_once(broker: Broker) -> None:
    """The broker does not open a batch that it stores as it came."""
    appended = append_produced(broker.partition, batch(1, 10), PRODUCE_VERSION, NOW_MS)
    assert appended == AppendInfo(0, 0, -1, 0)


async def test_an_error_of_the_records_comes_before_one_of_the_producer(broker: Broker) -> None:
    """``UnifiedLog.append`` validates the records before the state of their producer. A duplicate is acknowledged
    without a look at its records.
    """
    await configure(broker, "cleanup.policy", "compact")

    def sent(key: bytes | None, sequence: int, epoch: int = 3) -> bytes:
        records = [Record(0, NOW_MS, key, b"v")]
        return encode_batch(records, producer_id=7, producer_epoch=epoch, base_sequence=sequence)

    async def refusal(records: bytes) -> ErrorCode:
        with pytest.raises(KafkaError) as caught:
            await unopened_after(records, 1).append(World())
        return caught.value.code

    def unopened_after(records: bytes, end: int) -> LongAppend:
        result = append_produced(broker.partition, records, PRODUCE_VERSION, NOW_MS, verified_at=end)
        assert isinstance(result, LongAppend)
        return result

    assert await unopened_after(sent(b"k", 0), 0).append(World()) == AppendInfo(0, 0, -1, 0)
    for key, expected in ((None, ErrorCode.INVALID_RECORD), (b"k", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)):
        assert await refusal(sent(key, 9)) is expected
    for key, expected in ((None, ErrorCode.INVALID_RECORD), (b"k", ErrorCode.INVALID_PRODUCER_EPOCH)):
        assert await refusal(sent(key, 0, epoch=2)) is expected
    unknown = encode_batch([Record(0, NOW_MS, b"k", b"v")], producer_id=8, producer_epoch=0, base_sequence=5)
    assert await refusal(unknown) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "of a later first sequence (KIP-890)"
    again = append_produced(broker.partition, sent(None, 0), PRODUCE_VERSION, NOW_MS)
    assert again == AppendInfo(0, 0, NOW_MS, 0)
    assert broker.values == [b"v"]


async def test_large_batches_are_compressed_on_a_worker_thread(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 MB into zstd level 22 takes 11 s, in which nothing else would run on the event loop."""
    await configure(broker, "compression.type", "zstd")
    threads: list[int] = []

    def compress(*arguments: Any) -> bytes:
        threads.append(threading.get_ident())
        return codecs._zstd(*arguments)  # type: ignore[attr-defined]

    monkeypatch.setattr(codecs, "_COMPRESSORS", (*codecs._COMPRESSORS[:-1], compress))  # type: ignore[attr-defined]
    assert await unopened(broker, batch(1, 2 * SMALL_BYTES)).append(World()) == AppendInfo(0, 0, -1, 0)
    (large,) = threads
    assert large != threading.get_ident()
    small = append_produced(broker.partition, batch(1, 100, sequence=1), PRODUCE_VERSION, NOW_MS)
    assert isinstance(small, LongAppend)
    assert await small.append(World()) == AppendInfo(1, 1, -1, 0)
    assert threads == [large, threading.get_ident()], "a thread would cost more than the work"
    assert broker.values == [bytes(2 * SMALL_BYTES), bytes(100)]


@pytest.mark.parametrize(("count", "size"), [(1, 2 * SMALL_BYTES), (1, 20 * SMALL_BYTES)])
async def test_batches_that_become_large_are_decompressed_on_a_worker_thread(
    broker: Broker, count: int, size: int
) -> None:
    """Of the bytes on the wire, one may become 40,000."""
    await configure(broker, "cleanup.policy", "compact")
    computing = Computing()
    zeros = batch(count, size, compression=Compression.ZSTD)
    assert len(zeros) < 200
    await unopened(broker, zeros).append(World(compute=computing))
    assert computing.calls == (size > 8 * SMALL_BYTES)


async def test_records_are_checked_in_slices(broker: Broker) -> None:
    """3.3 MB of zstd may hold 4,000,000 records, whose check would hold the event loop for 9 s."""
    await configure(broker, "cleanup.policy", "compact")
    large = unopened(broker, batch(5 * RECORDS_PER_SLICE, 1))
    async with steps_of_this_task() as steps:
        assert (await large.append(World())).last_offset == 5 * RECORDS_PER_SLICE - 1
    assert steps.count >= 5


async def test_a_retry_that_came_during_the_work_is_a_duplicate(broker: Broker) -> None:
    """KIP-98: a producer that reconnects sends the batch again while the first is still being recompressed."""
    await configure(broker, "compression.type", "zstd")
    records = batch(1, 2 * SMALL_BYTES)
    first, retry = unopened(broker, records), unopened(broker, records)
    results = []

    async def append(each: LongAppend) -> None:
        results.append(await each.append(World()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, first)
        nursery.start_soon(append, retry)
    assert [each.base_offset for each in results] == [0, 0]
    assert broker.partition.log.log_end_offset == 1


async def test_a_batch_that_follows_one_in_work_is_out_of_order(broker: Broker) -> None:
    """KIP-98: no gap in the sequence is appended."""
    await configure(broker, "compression.type", "zstd")
    await unopened(broker, batch(1, 10)).append(World())
    large = append_produced(broker.partition, batch(1, 2 * SMALL_BYTES, sequence=1), PRODUCE_VERSION, NOW_MS)
    assert isinstance(large, LongAppend)
    with pytest.raises(KafkaError) as caught:
        append_produced(broker.partition, batch(1, 10, sequence=2), PRODUCE_VERSION, NOW_MS)
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (await large.append(World())).base_offset == 1


async def test_nothing_is_appended_after_the_leadership_has_ended(broker: Broker) -> None:
    """The new leader's log is the only one by then, and this one will be truncated."""
    await configure(broker, "compression.type", "zstd")
    partition, state = broker.partition, broker.partition.state
    large = unopened(broker, batch(1, 2 * SMALL_BYTES))
    with pytest.raises(KafkaError) as caught:
        await large.append(World(compute=Computing(lambda: partition.follow(attrs.evolve(state, leader=2)))))
    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


async def test_nothing_is_appended_to_a_log_of_a_deleted_topic(broker: Broker) -> None:
    """Its directory may be that of another topic by then."""
    await configure(broker, "compression.type", "zstd")
    large, partition = unopened(broker, batch(1, 2 * SMALL_BYTES)), broker.partition
    off = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, replicas=[2], isr=[2], leader=2)
    await broker.hear(off.evolve(directories=[TOPIC_ID]))
    with pytest.raises(KafkaError) as caught:
        await large.append(World())
    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.is_closed


async def test_damage_in_a_large_batch_is_found_on_the_thread(broker: Broker) -> None:
    """CORRUPT_MESSAGE, wherever the records are decompressed."""
    await configure(broker, "cleanup.policy", "compact")
    whole = bytearray(batch(1, 4 * SMALL_BYTES, compression=Compression.NONE))
    whole[22] |= Compression.GZIP
    with pytest.raises(KafkaError) as caught:
        await unopened(broker, forge(bytes(whole), bytes(whole[61:]))).append(World())
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


async def test_a_cancelled_append_does_not_wait_for_its_thread(broker: Broker) -> None:
    """A stop waits for no compression. Its result is dropped."""
    await configure(broker, "compression.type", "zstd")
    large = unopened(broker, batch(1, 2 * SMALL_BYTES))
    begun, release = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    async def compute(work: Callable[..., Any], *arguments: Any) -> Any:
        def slow() -> Any:
            trio.from_thread.run_sync(begun.set, trio_token=token)
            release.wait(30)
            return work(*arguments)

        return await World().compute(slow)

    try:
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(large.append, World(compute=compute))
                await begun.wait()
                nursery.cancel_scope.cancel()
    finally:
        release.set()
    assert broker.partition.log.log_end_offset == 0


async def test_the_first_append_to_a_log_waits_until_its_topic_id_is_durable(tmp_path: Path) -> None:
    """UnifiedLog.append calls maybeFlushMetadataFile first. A worker thread syncs, and other requests go on."""
    synced: list[tuple[str, ...]] = []

    async def in_thread(work: Callable[..., Any], flush: Flush) -> None:
        assert not broker.values, "the id comes first"
        synced.append(flush.paths)
        work(flush)

    broker = broker_in(tmp_path, 1)
    broker.replicas.world = World(in_thread=in_thread)
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    assert synced == [], "a creation of 10,000 partitions does not wait for the disk"
    message = produce_request(TOPIC, batch(1, 10))
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    reply = await at_broker(serving(broker.replicas), Request(0, PRODUCE_VERSION, 0, "t", b"", 0, info), message)
    assert isinstance(reply, Parked)
    response = await reply.wait()
    assert isinstance(response, ProduceResponse)
    assert response.responses[0].partition_responses[0].error_code == 0
    assert synced == [(str(tmp_path / "topic-0" / "partition.metadata"),)]
    appended = append_produced(broker.partition, batch(1, 10, sequence=1), PRODUCE_VERSION, NOW_MS)
    assert isinstance(appended, AppendInfo)
    broker.partition.log.abandon()


async def test_the_ids_of_coordinated_logs_are_durable_before_their_coordinator_begins(tmp_path: Path) -> None:
    """A coordinator appends in the event loop, and there a sync would hold all others."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    records = topic(1, leader=1)[1:]
    led = await broker.hear(registration(1, 5), TopicRecord(name=OFFSETS_TOPIC, topic_id=TOPIC_ID), *records)
    assert [each.log.has_unsynced_id for each in led.gained] == [False]
    led.gained[0].log.abandon()


async def test_a_log_whose_topic_id_cannot_be_synced_rejects_appends(tmp_path: Path) -> None:
    """The node ends at the next check of its logs. Until then it accepts no record that a power cut could take away."""

    def fail(flush: Flush) -> None:
        raise OSError(errno.EIO, "Input/output error")

    broker = broker_in(tmp_path, 1)
    broker.replicas.world = World(sync=cast(Any, fail))
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), *topic(1, leader=1))
    await broker.replicas.make_ids_durable([broker.partition])
    long = append_produced(broker.partition, batch(1, 10), PRODUCE_VERSION, NOW_MS)
    assert isinstance(long, LongAppend)
    with pytest.raises(OSError, match="an earlier write failed"):
        await long.append(World())
    assert broker.partition.log.log_end_offset == 0
    broker.partition.log.abandon()


def large(broker: Broker, size: int, sequence: int = 0) -> LongAppend:
    result = append_produced(broker.partition, bytearray(batch(1, size, sequence=sequence)), PRODUCE_VERSION, NOW_MS)
    assert isinstance(result, LongAppend)
    return result


async def test_a_large_batch_is_appended_in_pieces_and_later_ones_follow_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several requests for one partition, each appends in the order of arrival, however small it is. Another
    partition, or a reader, does not wait.
    """
    monkeypatch.setattr("kraft.replication.appending.AT_ONCE_BYTES", 1000)
    monkeypatch.setattr("kraft.storage.segment.PIECE_BYTES", 100)
    appended: list[AppendInfo] = []

    async def append(each: LongAppend) -> None:
        appended.append(await each.append(World()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, large(broker, 5000))
        while not broker.partition.is_appending:
            await trio.lowlevel.checkpoint()
        small = append_produced(broker.partition, batch(1, 10, sequence=1), PRODUCE_VERSION, NOW_MS)
        assert isinstance(small, LongAppend)
        async with steps_of_this_task() as steps:
            nursery.start_soon(append, small)
            while not appended:
                assert broker.values == []
                await trio.lowlevel.checkpoint()
        assert steps.count >= 30
    assert [each.base_offset for each in appended] == [0, 1]
    assert broker.values == [bytes(5000), bytes(10)]
    at_once = append_produced(broker.partition, batch(1, 10, sequence=2), PRODUCE_VERSION, NOW_MS)
    assert isinstance(at_once, AppendInfo)


async def test_enough_replicas_are_in_sync_at_the_append_too(broker: Broker) -> None:
    """Partition.appendRecordsToLeader compares the ISR with ``min.insync.replicas`` under the lock of the append."""
    await configure(broker, "cleanup.policy", "compact")
    await configure(broker, "min.insync.replicas", "2")
    long = unopened(broker, batch(1, 10))
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))
    with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
        await long.append(World(), acks_all=True)
    assert broker.partition.log.log_end_offset == 0
    assert (await long.append(World())).base_offset == 0, "acks=1 needs the leader only"


@pytest.mark.parametrize("change", [{"leader": 2}, {"leader": 1, "isr": [1]}], ids=["another leader", "another epoch"])
async def test_a_leader_epoch_that_ends_during_a_large_append_refuses_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """The batch has the epoch in its bytes. Nothing of it stays in the file, where a start would find it."""
    monkeypatch.setattr("kraft.replication.appending.AT_ONCE_BYTES", 1000)
    monkeypatch.setattr("kraft.storage.segment.PIECE_BYTES", 100)
    partition, codes = broker.partition, []

    async def append(each: LongAppend) -> None:
        with pytest.raises(KafkaError) as refused:
            await each.append(World())
        codes.append(refused.value.code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, large(broker, 5000))
        while not os.stat(partition.log.segments.active.path).st_size:
            await trio.lowlevel.checkpoint()
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **change))
        assert not codes
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert os.stat(partition.log.segments.active.path).st_size == partition.log.size == 0
    assert not partition.is_appending


async def test_the_copy_of_a_large_batch_lets_other_tasks_run(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of 100 MB takes 60 ms. A batch that is compressed again needs none: the worker thread joins its parts."""
    await configure(broker, "cleanup.policy", "compact")
    monkeypatch.setattr("kraft.replication.appending.AT_ONCE_BYTES", 100_000)
    content = random.Random(1).randbytes(1_000_000)
    records = encode_batch([Record(0, NOW_MS, b"key", content)])
    opening = unopened(broker, records)
    async with steps_of_this_task() as steps:
        await opening.append(World())
    assert steps.count >= 1_000_000 // 100_000
    assert broker.values == [content]


async def test_a_marker_waits_for_an_append_under_way(broker: Broker) -> None:
    """``UnifiedLog`` appends one batch after the other, under a lock. Without another append, a marker does not even
    let other tasks run.
    """
    partition = broker.partition
    marker = EndTransactionMarker(committed=True, coordinator_epoch=0)
    with trio.testing.assert_no_checkpoints():
        first = await partition.append_marker(7, 0, marker)
    offsets = [first.last_offset]

    async def append() -> None:
        offsets.append((await partition.append_marker(7, 0, marker)).last_offset)

    async with trio.open_nursery() as nursery:
        async with partition.appending():
            nursery.start_soon(append)
            await trio.testing.wait_all_tasks_blocked()
            assert offsets == [0]
    assert offsets == [0, 1]


async def test_a_batch_in_the_codec_of_its_topic_has_the_limit_too(broker: Broker) -> None:
    """``UnifiedLog.append``: "re-validate message sizes if there's a possibility that they have changed"."""
    await configure(broker, "compression.type", "uncompressed")
    await configure(broker, "max.message.bytes", "100000")
    small, large = (batch(1, size, compression=Compression.ZSTD) for size in (90_000, 30_000_000))
    assert max(len(small), len(large)) < 100_000
    with pytest.raises(KafkaError, match=r"max\.message\.bytes is 100000") as refused:
        await unopened(broker, large).append(World())
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    await unopened(broker, small).append(World())
    assert broker.partition.log.log_end_offset == 1
