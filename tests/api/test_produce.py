"""Produce: appended and refused batches, with Kafka's error codes."""

from __future__ import annotations

import struct
import threading
import time
import uuid
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from kraft.api.produce import at_broker
from kraft.broker.leadership import FollowerFetched
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import ProduceResponse
from kraft.records.batch import TimestampType, checksum, parse_header
from kraft.records.compression import Compression
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.rpc.client import Connection, connect
from kraft.storage import segment
from kraft.storage.flush import Flush
from kraft.storage.open_files import OPEN_FILES
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.errors import ErrorCode
from kraft.world.dial import dial_by_tcp
from kraft.world.transport import Transport
from tests.api.groups import coordinated
from tests.support.held import TOPIC, broker_in, leader_in, serving
from tests.support.nodes import connected
from tests.support.steps import steps_of_this_task
from tests.support.talk import batch, create, end_offset, fetch, produce, produce_request, topic_id_of, values


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(3, 13))
async def test_every_version_appends_and_returns_the_offset(
    broker: Connection, topic: str, version: int, acks: int
) -> None:
    for first in (0, 2):
        answer = await produce(broker, topic, batch(b"a", b"b"), version, acks=acks)
        assert (answer.error_code, answer.base_offset) == (0, first)
        assert answer.log_append_time_ms == -1, "message.timestamp.type is CreateTime"
        assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert await values(broker, topic) == [b"a", b"b", b"a", b"b"]


async def test_with_acks_0_nothing_is_answered(broker: Connection, topic: str) -> None:
    """``acks=0``: the producer does not wait. The next answer on the connection is that of the next request."""
    await broker.send(produce_request(topic, batch(b"quiet"), acks=0), 12)
    assert await values(broker, topic) == [b"quiet"]


@pytest.mark.parametrize(
    "request_",
    [
        produce_request("no-such-topic", batch(b"a"), acks=0),
        ProduceRequest(transactional_id="t", acks=0, topic_data=produce_request("x", batch(b"a")).topic_data),
    ],
    ids=["unknown topic", "transactional"],
)
async def test_with_acks_0_a_refusal_closes_the_connection(
    kraft_shared_cluster: EmbeddedCluster, request_: ProduceRequest
) -> None:
    """A closed connection is the only error signal for a producer with acks=0.

    The test sends nothing after the Produce request. If the broker closed a socket that still held an unread request,
    the kernel would reset the connection instead of ending it.
    """
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    transport = await dial_by_tcp(host, int(port))

    async def dial(_host: str, _port: int) -> Transport:
        return transport

    async with connect(host, int(port), dial=dial) as broker:
        await broker.send(request_, 12)
        with trio.fail_after(30):
            assert await transport.receive_into(memoryview(bytearray(1))) == 0


@pytest.mark.parametrize(
    ("version", "reason"),
    [(12, "UNKNOWN_TOPIC_OR_PARTITION: nowhere-0: "), (2, "UNSUPPORTED_VERSION: ")],
    ids=["unknown topic", "old version"],
)
async def test_the_log_says_why_acks_0_closed_a_connection(
    caplog: pytest.LogCaptureFixture, version: int, reason: str
) -> None:
    """Apache's KafkaApis: "Closing connection due to error during produce request"."""
    async with embedded_node() as node:
        host, _, port = node.bootstrap_servers.rpartition(":")
        transport = await dial_by_tcp(host, int(port))

        async def dial(_host: str, _port: int) -> Transport:
            return transport

        async with connect(host, int(port), client_id="quiet", dial=dial) as broker:
            await broker.send(produce_request("nowhere", batch(b"a"), acks=0), version)
            with trio.fail_after(30):
                assert await transport.receive_into(memoryview(bytearray(1))) == 0
    assert f"closed: API 0 version {version} from 'quiet': {reason}" in caplog.text


@pytest.mark.parametrize("acks", [-2, 2, 3, 32767])
async def test_other_acks_are_refused(broker: Connection, topic: str, acks: int) -> None:
    """KIP-1 took acks > 1 away. An unknown topic is refused first, as by Apache's ``KafkaApis``."""
    assert (await produce(broker, topic, batch(b"a"), acks=acks)).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert await end_offset(broker, topic) == 0
    unknown = await produce(broker, "nowhere", batch(b"a"), acks=acks)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("partition", [-1, 1, 2**31 - 1])
async def test_an_unknown_partition_is_refused(broker: Connection, topic: str, partition: int) -> None:
    answer = await produce(broker, topic, batch(b"a"), partition=partition)
    assert (answer.error_code, answer.index) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partition)
    assert (await produce(broker, "nowhere", batch(b"a"))).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_one_bad_partition_does_not_hurt_the_others(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 3)
    data = [PartitionProduceData(0, batch(b"a")), PartitionProduceData(9, batch(b"a")), PartitionProduceData(2, b"?")]
    topics = [TopicProduceData(new_name, partition_data=data)]
    response = await broker.request(ProduceRequest(acks=-1, topic_data=topics), 12)
    codes = [each.error_code for each in response.responses[0].partition_responses]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.CORRUPT_MESSAGE]
    assert await values(broker, new_name) == [b"a"]


async def test_topics_by_id(broker: Connection, topic: str) -> None:
    """KIP-516: from version 13 on the id alone names the topic."""
    topic_id = await topic_id_of(broker, topic)
    response = await broker.request(produce_request("", batch(b"a"), topic_id=topic_id), 13)
    assert response.responses[0].topic_id == topic_id
    assert response.responses[0].partition_responses[0].base_offset == 0
    unknown = await produce(broker, "", batch(b"a"), 13, topic_id=uuid.uuid4())
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert await end_offset(broker, topic) == 1


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_versions_0_to_2_are_offered_and_refused(broker: Connection, topic: str, version: int) -> None:
    """KIP-896, and the exception of KAFKA-18659: librdkafka reads the lowest version offered as a sign of age."""
    assert broker.versions[0] == (0, 13)
    answer = await produce(broker, topic, batch(b"a"), version)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert await end_offset(broker, topic) == 0


def _flipped(data: bytes, position: int) -> bytes:
    broken = bytearray(data)
    broken[position] ^= 1
    return bytes(broken)


_GOOD = batch(b"a" * 50)
_OLD_MAGIC = struct.pack(">qiIbbqii", 0, 22, 0, 1, 0, 0, -1, -1)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (_flipped(_GOOD, 70), ErrorCode.CORRUPT_MESSAGE),
        (_flipped(_GOOD, 20), ErrorCode.CORRUPT_MESSAGE),
        (_GOOD[:-1], ErrorCode.CORRUPT_MESSAGE),
        (_GOOD[:40], ErrorCode.CORRUPT_MESSAGE),
        (b"\0", ErrorCode.CORRUPT_MESSAGE),
        (b"", ErrorCode.INVALID_RECORD),
        (None, ErrorCode.INVALID_RECORD),
        (_GOOD + _GOOD, ErrorCode.INVALID_RECORD),
        (_OLD_MAGIC, ErrorCode.INVALID_RECORD),
        (batch(b"a", control=True), ErrorCode.INVALID_RECORD),
        (batch(b"a" * 2_000_000), ErrorCode.MESSAGE_TOO_LARGE),
        (batch(b"a", timestamp_type=TimestampType.LOG_APPEND_TIME), ErrorCode.INVALID_TIMESTAMP),
        (batch(b"a", timestamp=2**62), ErrorCode.INVALID_TIMESTAMP),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "",
)
async def test_bad_batches_append_nothing(
    broker: Connection, topic: str, records: bytes | None, code: ErrorCode
) -> None:
    answer = await produce(broker, topic, records)
    assert (ErrorCode(answer.error_code), answer.base_offset) == (code, -1)
    assert (answer.error_message is None) is (not answer.record_errors)
    assert await end_offset(broker, topic) == 0


async def test_zstd_needs_version_7(broker: Connection, topic: str) -> None:
    """KIP-110."""
    records = batch(b"a" * 100, compression=Compression.ZSTD)
    assert (await produce(broker, topic, records, 6)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (await produce(broker, topic, records, 7)).error_code == ErrorCode.NONE


async def test_timestamp_bounds_of_the_topic(broker: Connection, new_name: str) -> None:
    """``message.timestamp.before.max.ms`` and ``message.timestamp.after.max.ms`` (KIP-937)."""
    limits = {"message.timestamp.before.max.ms": "60000", "message.timestamp.after.max.ms": "60000"}
    await create(broker, new_name, configs=limits)
    now_ms = time.time_ns() // 1_000_000
    for late, code in ((-120_000, 32), (120_000, 32), (-1_000, 0), (1_000, 0)):
        assert (await produce(broker, new_name, batch(b"a", timestamp=now_ms + late))).error_code == code


async def test_log_append_time(broker: Connection, new_name: str) -> None:
    """``message.timestamp.type=LogAppendTime``: producer and readers get the broker's time."""
    await create(broker, new_name, configs={"message.timestamp.type": "LogAppendTime"})
    answer = await produce(broker, new_name, batch(b"a", timestamp=1))
    data = await fetch(broker, new_name)
    assert isinstance(data.records, memoryview)
    header = parse_header(data.records)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == answer.log_append_time_ms > 1_700_000_000_000


@pytest.mark.parametrize("sent", list(Compression))
@pytest.mark.parametrize("wanted", ["gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"])
async def test_the_topics_codec(broker: Connection, new_name: str, sent: Compression, wanted: str) -> None:
    """``compression.type``: the broker stores batches in it, or as they came (``producer``)."""
    await create(broker, new_name, configs={"compression.type": wanted})
    answer = await produce(broker, new_name, batch(b"a" * 1000, b"b", compression=sent))
    assert answer.error_code == 0
    data = await fetch(broker, new_name)
    assert isinstance(data.records, memoryview)
    stored = parse_header(data.records).compression
    assert stored is (
        sent if wanted == "producer" else Compression["NONE" if wanted == "uncompressed" else wanted.upper()]
    )
    assert await values(broker, new_name) == [b"a" * 1000, b"b"]


@pytest.mark.parametrize("configs", [{"compression.type": "lz4"}, {"cleanup.policy": "compact"}], ids=str)
async def test_records_that_cannot_be_read_where_they_must_be(
    broker: Connection, new_name: str, configs: dict[str, str]
) -> None:
    """The checksum is right and the payload is no gzip."""
    await create(broker, new_name, configs=configs)
    good = bytearray(batch(b"a" * 1000, key=b"k", compression=Compression.GZIP))
    good[61:] = bytes(len(good) - 61)
    struct.pack_into(">I", good, 17, checksum(good[21:]))
    assert (await produce(broker, new_name, bytes(good))).error_code == ErrorCode.CORRUPT_MESSAGE
    assert await end_offset(broker, new_name) == 0


async def test_a_compacted_topic_wants_keys(broker: Connection, new_name: str) -> None:
    """KIP-467: the answer names each record that was refused."""
    await create(broker, new_name, configs={"cleanup.policy": "compact"})
    answer = await produce(broker, new_name, batch(b"a", b"b"))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [0, 1]
    assert answer.record_errors[0].batch_index_error_message
    assert (await produce(broker, new_name, batch(b"a", key=b"k"))).error_code == 0
    assert await end_offset(broker, new_name) == 1


def _sequenced(sequence: int, *values: bytes, producer_id: int = 4711, epoch: int = 0) -> bytes:
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


async def test_an_idempotent_producers_duplicates_get_the_first_offset(broker: Connection, topic: str) -> None:
    """KIP-98, and ``max.in.flight.requests.per.connection`` of 5: that many batches are remembered."""
    for n in range(6):
        assert (await produce(broker, topic, _sequenced(2 * n, b"a", b"b"))).base_offset == 2 * n
    for n in range(1, 6):
        answer = await produce(broker, topic, _sequenced(2 * n, b"a", b"b"))
        assert (answer.error_code, answer.base_offset) == (0, 2 * n)
    too_old = await produce(broker, topic, _sequenced(0, b"a", b"b"))
    assert too_old.error_code in (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    gap = await produce(broker, topic, _sequenced(14, b"a"))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await end_offset(broker, topic) == 12


async def test_a_newer_epoch_of_a_producer_fences_the_older(broker: Connection, topic: str) -> None:
    assert (await produce(broker, topic, _sequenced(0, b"a", epoch=1))).error_code == 0
    old = await produce(broker, topic, _sequenced(1, b"a", epoch=0))
    assert old.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    restarted = await produce(broker, topic, _sequenced(5, b"a", epoch=2))
    assert restarted.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (await produce(broker, topic, _sequenced(0, b"a", epoch=2))).base_offset == 1


async def test_no_partition_needs_more_in_sync_replicas_than_it_has(broker: Connection, new_name: str) -> None:
    """``min.insync.replicas`` of 2 on a single replica: Kafka counts no further than there are replicas."""
    await create(broker, new_name, configs={"min.insync.replicas": "2"})
    assert (await produce(broker, new_name, batch(b"a"))).error_code == 0
    assert (await produce(broker, new_name, batch(b"a"), acks=1)).error_code == 0


async def test_a_full_disk_is_a_storage_error_and_appends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with embedded_node(topics={"orders": 1}) as node, connected(node) as broker:
        assert (await produce(broker, "orders", batch(b"a"))).base_offset == 0
        write = segment.write_all

        def full(fd: int, data: bytes) -> None:
            write(fd, data[:30])
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(segment, "write_all", full)
            answer = await produce(broker, "orders", batch(b"lost"))
            assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert (await produce(broker, "orders", batch(b"b"))).base_offset == 1
        assert await values(broker, "orders") == [b"a", b"b"]


async def test_requests_of_one_connection_are_answered_in_order(
    kraft_shared_cluster: EmbeddedCluster, broker: Connection, topic: str
) -> None:
    offsets: dict[int, int] = {}

    async def one(number: int) -> None:
        offsets[number] = (await produce(broker, topic, batch(b"%d" % number))).base_offset

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(one, number)
    stored = await values(broker, topic)
    assert sorted(offsets.values()) == list(range(20))
    assert all(stored[offset] == b"%d" % number for number, offset in offsets.items())


async def test_clients_may_not_write_to_internal_topics(broker: Connection) -> None:
    """One record that the coordinator cannot read, and no group of the partition could be loaded again."""
    await coordinated(broker, "internal")
    answer = await produce(broker, "__consumer_offsets", batch(b"a", key=b"k"))
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    absent = await produce(broker, "__share_group_state", batch(b"a"))
    assert absent.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "a topic that does not exist yet"


def _addressed(*batches: tuple[str, int, bytes], acks: int = -1) -> ProduceRequest:
    """A request with an entry for each (topic, partition, records)."""
    data = [
        TopicProduceData(name, partition_data=[PartitionProduceData(index, records)])
        for name, index, records in batches
    ]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=data)


@pytest.mark.parametrize("configs", [{}, {"compression.type": "uncompressed"}], ids=["as sent", "opened on a thread"])
async def test_of_a_partition_that_is_named_twice_the_last_batch_is_appended(
    broker: Connection, new_name: str, configs: dict[str, str]
) -> None:
    """Apache's ``KafkaApis.handleProduceRequest`` collects the batches in a map by partition, and answers from it.

    The first batch is so large that a worker thread opens it, and the last one needs no thread.
    """
    await create(broker, new_name, 2, configs)
    large = batch(*(b"first %d" % n for n in range(5000)), compression=Compression.GZIP)
    small, other = batch(b"last"), batch(b"other")
    within = TopicProduceData(new_name, partition_data=[PartitionProduceData(0, large), PartitionProduceData(0, small)])
    requests = [
        ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[within]),
        _addressed((new_name, 0, large), (new_name, 1, other), (new_name, 0, small)),
    ]
    for offset, (request, indexes) in enumerate(zip(requests, ([0], [0, 1]), strict=True)):
        response = await broker.request(request, 12)
        (topic,) = response.responses
        answers = topic.partition_responses
        assert [each.index for each in answers] == indexes
        assert (answers[0].error_code, answers[0].base_offset) == (0, offset)
    assert await values(broker, new_name) == [b"last", b"last"]


async def test_a_batch_that_a_thread_opens_keeps_its_place(broker: Connection, new_name: str) -> None:
    """Kafka's guarantee: messages of a producer to a partition are appended in the order in which they are sent.

    With ``acks=0`` the second request is sent while the first batch is opened.
    """
    await create(broker, new_name, configs={"compression.type": "uncompressed"})
    large = batch(*(b"first %d" % n for n in range(5000)), compression=Compression.GZIP)
    await broker.send(produce_request(new_name, large, acks=0), 12)
    assert (await produce(broker, new_name, batch(b"last"))).base_offset == 5000


@pytest.mark.parametrize("transactional", [False, True])
async def test_many_partitions_let_other_tasks_run_before_the_first_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transactional: bool
) -> None:
    """A request may name 100,000 partitions. A batch of a transaction in the last of them is looked for."""
    monkeypatch.setattr("kraft.api.produce._SLICE_ELEMENTS", 10)
    monkeypatch.setattr("kraft.api.produce._SLICE_BYTES", 1 << 40)
    last = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=transactional)
    data = [PartitionProduceData(index, last if index == 99 else b"") for index in range(100)]
    message = ProduceRequest("t", -1, topic_data=[TopicProduceData("nowhere", partition_data=[*data, *data[:50]])])
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    async with steps_of_this_task() as steps:
        answer = await at_broker(serving(broker_in(tmp_path, 1).replicas), Request(0, 9, 0, "t", b"", 0, info), message)
    assert steps.count >= 150 // 10
    assert isinstance(answer, ProduceResponse)
    codes = [each.error_code for each in answer.responses[0].partition_responses]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 100


@pytest.mark.parametrize("acks", [0, -1])
async def test_the_first_appends_to_many_logs_let_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acks: int
) -> None:
    """Each opens a file, which takes as long as 384 KiB of records: at most five of them are one slice of 2 MiB."""
    count = 50
    monkeypatch.setattr(OPEN_FILES, "capacity", 10)
    data = [PartitionProduceData(index, batch(b"a")) for index in range(count)]
    message = ProduceRequest(None, acks, topic_data=[TopicProduceData(TOPIC, partition_data=data)])
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    async with leader_in(tmp_path, count) as broker:
        reply = await at_broker(serving(broker.replicas), Request(0, 9, 0, "t", b"", 0, info), message)
        assert isinstance(reply, Parked)
        assert reply.is_awaited == (acks != 0)
        await broker.replicas.make_ids_durable(broker.replicas.all())
        async with steps_of_this_task() as steps:
            await reply.wait()
        assert steps.count >= count // 5
        assert [each.log.log_end_offset for each in broker.replicas.all()] == [1] * count


@pytest.mark.parametrize("acks", [0, 1, -1])
async def test_flush_messages_leaves_the_event_loop_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acks: int
) -> None:
    """``flush.messages``: the records are durable before the response, as in UnifiedLog.append. A client may ask for it
    on 10,000 partitions at once.
    """
    count, sound, flushed_in = 20, Flush.run, list[int]()

    def run(flush: Flush) -> None:
        flushed_in.append(threading.get_ident())
        sound(flush)

    data = [PartitionProduceData(index, batch(b"a")) for index in range(count)]
    message = ProduceRequest(None, acks, topic_data=[TopicProduceData(TOPIC, partition_data=data)])
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    async with leader_in(tmp_path, count) as broker:
        await broker.replicas.make_ids_durable(broker.replicas.all())
        monkeypatch.setattr(Flush, "run", run)
        for expected in (0, count):
            reply = await at_broker(serving(broker.replicas), Request(0, 9, 0, "t", b"", 0, info), message)
            if isinstance(reply, Parked):
                await reply.wait()
            assert len(flushed_in) == expected
            for each in broker.replicas.all():
                each.log.config = attrs.evolve(each.log.config, flush_messages=2)
        assert threading.get_ident() not in flushed_in
        assert [each.log.recovery_point for each in broker.replicas.all()] == [2] * count


@pytest.mark.parametrize("flush_messages", [1 << 40, 1], ids=["during the commit", "during the flush"])
async def test_records_that_another_leader_truncated_are_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush_messages: int
) -> None:
    """``DelayedProduce`` looks at every pending partition when its leadership ends, and answers
    NOT_LEADER_OR_FOLLOWER. Other records at the offsets of the lost ones do not make them committed.
    """
    sound = Replicas.flush_due
    is_flushed, may_go_on = trio.Event(), trio.Event()

    async def flush_due(replicas: Replicas, partitions: list[HostedPartition]) -> None:
        await sound(replicas, partitions)
        is_flushed.set()
        if flush_messages == 1:
            await may_go_on.wait()

    monkeypatch.setattr(Replicas, "flush_due", flush_due)
    data = [PartitionProduceData(index, batch(b"a")) for index in range(2)]
    message = ProduceRequest(None, -1, 60_000, [TopicProduceData(TOPIC, partition_data=data)])
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    responses = []
    async with leader_in(tmp_path, 2, 1, 2) as broker, trio.open_nursery() as nursery:
        await broker.replicas.make_ids_durable(broker.replicas.all())
        kept, moved = broker.replicas.all()
        for each in (kept, moved):
            each.log.config = attrs.evolve(each.log.config, flush_messages=flush_messages)
        reply = await at_broker(serving(broker.replicas), Request(0, 9, 0, "t", b"", 0, info), message)
        assert isinstance(reply, Parked)

        async def answer() -> None:
            responses.append(await reply.wait())

        nursery.start_soon(answer)
        await is_flushed.wait()
        await trio.testing.wait_all_tasks_blocked()
        await broker.lead_again(moved, batch(b"another"))
        kept.fetched(0.0, FollowerFetched(2, 6, 1, 0))
        may_go_on.set()
    codes = [each.error_code for each in responses[0].responses[0].partition_responses]
    assert codes == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
