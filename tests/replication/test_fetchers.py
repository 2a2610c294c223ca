"""A follower with real sockets and files, and a leader whose responses the test writes."""

from __future__ import annotations

import errno
import logging
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from kraft.config.listeners import Endpoint
from kraft.config.properties import from_mapping
from kraft.config.throttle_settings import FOLLOWER_RATE
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_response import EpochEndOffset, FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.list_offsets_request import ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metrics import Registry
from kraft.records.batch import iter_headers
from kraft.records.record import Record, encode_batch
from kraft.replication.checkpoints import FILES, CheckpointFiles, Checkpoints
from kraft.replication.fetchers import EARLIEST, Fetcher, Fetchers
from kraft.replication.partition import HostedPartition
from kraft.replication.throttle import Throttle
from kraft.rpc.channel import CLOSE, Parked, Reply, Request
from kraft.rpc.client import Connection, connect
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.storage.checkpoint import write_offsets
from kraft.storage.directory import LastStop
from kraft.storage.log import Log
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode
from kraft.wire.varint import Buffer
from kraft.world.clock import Clock
from tests.support.eventually import until
from tests.support.held import TOPIC_ID, Broker, broker_in, registration, topic

LEADER, HEIR, FOLLOWER = 1, 3, 2
BROKER_EPOCH = 22
APIS = {1: (4, 17), 2: (1, 9), 18: (0, 4)}
WAIT_MS, BACKOFF_MS = 20, 40

Say = Callable[[FetchPartition], Any]


def batches(offset: int, *values: bytes, epoch: int = 0) -> bytes:
    """One batch for each value."""
    return b"".join(
        encode_batch([Record(at, 1000, None, value)], base_offset=at, leader_epoch=epoch)
        for at, value in enumerate(values, offset)
    )


@attrs.define
class Leader:
    """A leader for one follower. ``say`` has its next responses, each sent once; later ones have no records."""

    node_id: int = LEADER
    port: int = 0
    saying: list[Say] = attrs.Factory(list)
    asked: list[FetchRequest] = attrs.Factory(list)
    start_offset: int = 0
    end_offset: int = 0

    def say(self, *answers: Say | PartitionData) -> None:
        for answer in answers:
            self.saying.append(answer if callable(answer) else lambda wanted, data=answer: data)

    @property
    def last(self) -> FetchPartition:
        """The last Fetch for the partition."""
        wanted: FetchPartition = self.asked[-1].topics[0].partitions[0]
        return wanted

    async def handle(self, request: Request) -> Reply:
        if request.api_key == 18:
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *versions) for key, versions in APIS.items()])
        message = request.message()
        if isinstance(message, ListOffsetsRequest):
            timestamp = message.topics[0].partitions[0].timestamp
            offset = self.start_offset if timestamp == EARLIEST else self.end_offset
            found = ListOffsetsTopicResponse(name="topic", partitions=[ListOffsetsPartitionResponse(offset=offset)])
            return ListOffsetsResponse(topics=[found])
        assert isinstance(message, FetchRequest)
        self.asked.append(message)
        if self.saying:
            data = self.saying.pop(0)(message.topics[0].partitions[0])
            return _response(data) if isinstance(data, PartitionData) else data

        async def wait() -> FetchResponse:
            await trio.sleep(WAIT_MS / 1000)
            return _response(PartitionData(high_watermark=self.end_offset, log_start_offset=self.start_offset))

        return Parked(wait)


def _response(data: PartitionData) -> FetchResponse:
    data.records = data.records or b""
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])


@asynccontextmanager
async def following(tmp_path: Path, *leaders: Leader) -> AsyncIterator[Broker]:
    """A broker that follows the first of the leaders, in epoch 0."""
    broker = broker_in(tmp_path, FOLLOWER)
    settings = {
        "log.dirs": str(tmp_path),
        "node.id": str(FOLLOWER),
        "controller.quorum.voters": f"{FOLLOWER}@127.0.0.1:1",
        "replica.fetch.wait.max.ms": str(WAIT_MS),
        "replica.fetch.backoff.ms": str(BACKOFF_MS),
    }
    config = from_mapping({**SETTINGS, **settings}).config
    async with trio.open_nursery() as nursery:
        for leader in leaders:
            plane = Plane("data", (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),), processors=1, handlers=1)
            quotas = ConnectionQuotas(ConnectionLimits(), time.perf_counter)
            service = Service(leader.handle, APIS, lambda request, error: CLOSE, quotas, Registry())
            leader.port = (await nursery.start(serve, plane, service, trio.Event()))["PLAINTEXT"].port
            await broker.hear(registration(leader.node_id, 10 + leader.node_id, leader.port))
        await broker.replicas.registered(BROKER_EPOCH)
        await broker.hear(registration(FOLLOWER, BROKER_EPOCH), *topic(LEADER, FOLLOWER, HEIR, leader=LEADER))
        throttle = Throttle(FOLLOWER_RATE, broker.replicas)
        nursery.start_soon(Fetchers(config, broker.replicas, Clock(), connect, throttle).run)
        with trio.fail_after(30):
            yield broker
        nursery.cancel_scope.cancel()


async def test_a_follower_appends_the_records_and_fetches_from_its_end(tmp_path: Path) -> None:
    leader = Leader()
    leader.say(PartitionData(records=batches(0, b"a", b"b"), high_watermark=1))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        assert broker.values == [b"a", b"b"]
        assert broker.partition.high_watermark == 1
        first, last = leader.asked[0], leader.last
        state = first.replica_state
        assert (state.replica_id, state.replica_epoch, first.isolation_level) == (FOLLOWER, BROKER_EPOCH, 0)
        wanted = first.topics[0].partitions[0]
        assert (wanted.fetch_offset, wanted.last_fetched_epoch, wanted.current_leader_epoch) == (0, -1, 0)
        assert (last.fetch_offset, last.last_fetched_epoch, last.log_start_offset) == (2, 0, 0)
        leader.end_offset = 9
        await until(lambda: broker.partition.high_watermark == 2)


async def test_a_leader_that_does_not_answer_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """``open_connection``: "trio.TooSlowError: a step took longer than ``timeout_s``". It has no text of its own."""

    @asynccontextmanager
    async def never(*_: object) -> AsyncIterator[Connection]:
        raise trio.TooSlowError
        yield

    monkeypatch.setitem(globals(), "connect", never)
    caplog.set_level(logging.INFO, "kraft.fetchers")
    async with following(tmp_path, Leader()):
        await until(lambda: bool(caplog.messages))
    assert caplog.messages == ["cannot fetch from broker 1, trying again: no answer in time"]


async def test_a_follower_flushes_before_it_fetches_again(tmp_path: Path) -> None:
    """``flush.messages``. Its next Fetch says that it has the records, and may commit them."""
    leader = Leader()

    def say(wanted: FetchPartition) -> PartitionData:
        log = broker.partition.log
        log.config = attrs.evolve(log.config, flush_messages=1)
        return PartitionData(records=batches(0, b"a", b"b"))

    leader.say(say)
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        assert (leader.last.fetch_offset, broker.partition.log.recovery_point) == (2, 2)


async def test_a_follower_writes_a_large_batch_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response has at least one whole batch, of up to ``max.message.bytes``."""
    monkeypatch.setattr("kraft.replication.fetchers.AT_ONCE_BYTES", 1000)
    monkeypatch.setattr("kraft.storage.segment.PIECE_BYTES", 100)
    written = []
    write_ahead = Log.write_ahead_as_follower

    async def counted(log: Log, buffer: Buffer, now_ms: int) -> None:
        written.append(len(buffer))
        await write_ahead(log, buffer, now_ms)

    monkeypatch.setattr(Log, "write_ahead_as_follower", counted)
    leader = Leader()
    large, small = batches(0, b"large" * 1000), batches(1, b"small")
    leader.say(PartitionData(records=large, high_watermark=1), PartitionData(records=small, high_watermark=2))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 3)
        assert broker.values == [b"large" * 1000, b"small"]
        assert not broker.partition.is_appending
    assert written == [len(large)]


def _after_the_first_append(monkeypatch: pytest.MonkeyPatch, change: Callable[[HostedPartition], object]) -> list[int]:
    """Make slices of three batches, and call ``change`` after the first append. Return the sizes of all appends."""
    monkeypatch.setattr("kraft.replication.fetchers._SLICE_BYTES", 3 * 8 * 1024)
    append, sizes = HostedPartition.append_fetched, list[int]()

    def counted(partition: HostedPartition, fetched: Buffer, now_ms: int) -> None:
        append(partition, fetched, now_ms)
        sizes.append(sum(1 for _ in iter_headers(fetched)))
        if len(sizes) == 1:
            change(partition)

    monkeypatch.setattr(HostedPartition, "append_fetched", counted)
    return sizes


async def test_a_response_with_many_batches_is_appended_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """world.slices: "a task that works for longer than a few milliseconds" lets others run. 1 MB of one partition
    (``replica.fetch.max.bytes``) may have 14,000 batches.
    """
    sizes = _after_the_first_append(monkeypatch, lambda partition: None)
    leader = Leader()
    values = [bytes([number]) for number in range(8)]
    leader.say(PartitionData(records=batches(0, *values)[:-1], high_watermark=7))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        assert broker.values == values[:7]
        assert broker.partition.high_watermark == 7
        assert leader.last.fetch_offset == 7
    assert sizes == [3, 3, 1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda partition: partition.follow(attrs.evolve(partition.state, leader_epoch=1)), id="a new epoch"
        ),
        pytest.param(lambda partition: partition.truncate_to(1, 0), id="a truncation"),
    ],
)
async def test_a_change_of_the_partition_between_two_slices_ends_the_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[HostedPartition], object]
) -> None:
    """world.slices.Slices: "State that the work reads may change at each ``spend``". A gap would lose records."""
    sizes = _after_the_first_append(monkeypatch, change)
    leader = Leader()
    leader.say(PartitionData(records=batches(0, *(bytes([number]) for number in range(8)))))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        assert sizes == [3]
        assert broker.partition.log.log_end_offset in (1, 3)


async def test_batches_of_one_response_that_no_index_holds_together_get_segments_of_their_own(tmp_path: Path) -> None:
    """A compacted log may have so few records left. An index has 31 bits for an offset."""
    offsets = [5, 2**31, 2**31 + 6, 2**40]
    leader = Leader()
    leader.say(PartitionData(records=b"".join(batches(offset, b"x") for offset in offsets)))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        log = broker.partition.log
        assert leader.last.fetch_offset == log.log_end_offset == 2**40 + 1
        assert [segment.base_offset for segment in log.segments] == [0, 5, 2**31 + 6, 2**40]


async def test_a_truncated_batch_is_fetched_again(tmp_path: Path) -> None:
    """A leader sends as many bytes as the request allows, and may end inside a batch."""
    leader = Leader()
    whole = batches(0, b"a", b"b")
    leader.say(PartitionData(records=whole[:-3]), lambda wanted: PartitionData(records=whole[len(whole) // 2 :]))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(broker.values) == 2)
        assert [each.topics[0].partitions[0].fetch_offset for each in leader.asked][:2] == [0, 1]


def _broken(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(_broken(batches(1, b"b")), id="wrong checksum"),
        pytest.param(batches(1, b"b", epoch=1), id="an epoch that is not yet"),
        pytest.param(batches(0, b"other"), id="an offset that is there"),
        pytest.param(b"\0" * 100, id="no batch at all"),
    ],
)
async def test_impossible_values_are_refused(tmp_path: Path, records: bytes) -> None:
    """The fetcher pauses the partition and fetches it again."""
    leader = Leader()
    leader.say(PartitionData(records=batches(0, b"a")), PartitionData(records=records))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) == 3)
        assert broker.values == [b"a"]
        leader.say(PartitionData(records=batches(1, b"b")))
        await until(lambda: broker.values == [b"a", b"b"])


async def test_a_log_that_parted_from_the_leader_s_is_cut(tmp_path: Path) -> None:
    """KIP-595 adds it to Fetch: the end of the leader's largest epoch at or below the requested one."""
    leader, heir = Leader(), Leader(HEIR)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=1))
    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: len(broker.values) == 3)
        parted = PartitionData(diverging_epoch=EpochEndOffset(0, 1))
        heir.say(parted, PartitionData(records=batches(1, b"d", epoch=1)))
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.values == [b"a", b"d"])
        asked = [each.topics[0].partitions[0] for each in heir.asked[:2]]
        assert [(each.current_leader_epoch, each.fetch_offset, each.last_fetched_epoch) for each in asked] == [
            (1, 3, 0),
            (1, 1, 0),
        ]
        assert broker.partition.log.cuts == 1


async def test_a_leader_that_was_deposed_before_it_wrote_forgets_its_epoch(tmp_path: Path) -> None:
    leader, heir = Leader(), Leader(HEIR)
    leader.say(PartitionData(records=batches(0, b"a")))
    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: broker.values == [b"a"])
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=FOLLOWER))
        assert broker.partition.is_leader
        assert broker.partition.end_of_epoch(1) == (1, 1)
        heir.say(PartitionData(diverging_epoch=EpochEndOffset(0, 1)), PartitionData(records=batches(1, b"b", epoch=2)))
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.values == [b"a", b"b"])
        assert [each.topics[0].partitions[0].last_fetched_epoch for each in heir.asked[:2]] == [1, 0]


async def test_a_useless_response_is_not_followed_by_a_request_at_once(tmp_path: Path) -> None:
    leader = Leader()
    leader.say(PartitionData(records=batches(0, b"a")))
    nowhere = PartitionData(diverging_epoch=EpochEndOffset(0, 5))
    leader.say(*[nowhere] * 1000)
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 2)
        asked = len(leader.asked)
        await trio.sleep(5 * BACKOFF_MS / 1000)
        assert len(leader.asked) - asked <= 8
        assert broker.values == [b"a"]


async def test_a_leader_that_ends_before_its_follower(tmp_path: Path) -> None:
    """An unclean election: records that only the follower has are lost. No checkpoint is beyond the new end."""
    leader = Leader(end_offset=1)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    records = PartitionData(records=batches(0, b"a", b"b"), high_watermark=2)
    leader.say(records)
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.partition.high_watermark == 2)
        broker.partition.log.flush()
        broker.partition.cleaned_offset = 2
        await broker.replicas.checkpoints.write()
        leader.say(refused)
        await until(lambda: broker.partition.log.cuts == 1)
        assert broker.values == [b"a"]
        assert broker.partition.high_watermark == 1
        written = Checkpoints.read(str(tmp_path))
        assert [written.offset(name, ("topic", 0)) for name in FILES] == [1, 0, 1, 1]


async def test_a_leader_that_begins_after_its_follower_ends(tmp_path: Path) -> None:
    """Retention or DeleteRecords: the leader's log has no record of the follower's any more."""
    leader = Leader(start_offset=100, end_offset=102)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    leader.say(PartitionData(records=batches(0, b"a")), refused)
    leader.say(PartitionData(records=batches(100, b"x", b"y"), high_watermark=102, log_start_offset=100))
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.values == [b"x", b"y"])
        assert (broker.partition.log.log_start_offset, broker.partition.high_watermark) == (100, 102)


async def test_a_leader_whose_log_begins_within_a_batch(tmp_path: Path) -> None:
    leader = Leader(start_offset=2, end_offset=3)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    of_three = encode_batch([Record(at, 1000, None, b"%d" % at) for at in range(3)], base_offset=0, leader_epoch=0)
    leader.say(refused, PartitionData(records=of_three, high_watermark=3, log_start_offset=2))
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.values == [b"2"])
        assert (broker.partition.log.log_start_offset, broker.partition.log.log_end_offset) == (2, 3)
        await until(lambda: leader.last.fetch_offset == 3)
    again = broker_in(tmp_path, FOLLOWER)
    await again.replicas.load(broker.loader.image)
    assert again.values == [b"2"], "after a kill too"


async def test_deleted_records_are_durably_deleted_before_the_next_fetch(tmp_path: Path) -> None:
    """KIP-107: the follower's next Fetch reports the deletion, and then the leader responds to DeleteRecords."""
    leader = Leader(end_offset=3)
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    told: list[tuple[int, str]] = []

    def note(wanted: FetchPartition) -> PartitionData:
        written = checkpoint.read_text() if checkpoint.exists() else ""
        told.append((wanted.log_start_offset, written))
        return PartitionData(high_watermark=3, log_start_offset=2)

    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3), note, note)
    async with following(tmp_path, leader):
        await until(lambda: len(told) == 2)
    assert told == [(0, ""), (2, "0\n1\ntopic 0 2\n")]


async def test_a_log_start_without_a_checkpoint_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-107, as above: a Fetch after a failed write would answer DeleteRecords for records that may come back."""
    leader = Leader(end_offset=3)
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    told: list[tuple[int, bool]] = []
    failures = 0

    def note(wanted: FetchPartition) -> PartitionData:
        told.append((wanted.log_start_offset, checkpoint.exists()))
        return PartitionData(high_watermark=3, log_start_offset=2)

    def fail_once(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", fail_once)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3), note, note)
    async with following(tmp_path, leader):
        await until(lambda: len(told) == 2)
    assert told == [(0, False), (2, True)]


async def test_a_log_start_that_cannot_be_written_pauses_no_other_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others may be on disks with room. A broker that fetches nothing leaves all ISRs."""
    is_full = True

    def write(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    def fetched() -> dict[int, int]:
        last = leader.asked[-1:]
        return {each.partition: each.log_start_offset for request in last for each in request.topics[0].partitions}

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write)
    leader = Leader()
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3, log_start_offset=2))
    async with following(tmp_path, leader) as broker:
        _, _, second = topic(LEADER, FOLLOWER, HEIR, leader=LEADER, partitions=2)
        await broker.hear(second)
        await until(lambda: fetched() == {1: 0})
        is_full = False
        leader.start_offset, leader.end_offset = 2, 3
        await until(lambda: fetched() == {1: 0, 0: 2})


async def test_a_log_whose_start_stays_costs_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = CheckpointFiles.write

    async def counted(self: CheckpointFiles, names: Collection[str]) -> None:
        written.append(broker.partition.log.log_start_offset)
        await write(self, names)

    monkeypatch.setattr(CheckpointFiles, "write", counted)
    leader = Leader(end_offset=3, start_offset=1)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 6)
    assert written == [1]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda wanted: PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), id="refused"),
        pytest.param(lambda wanted: PartitionData(error_code=ErrorCode.UNKNOWN_SERVER_ERROR), id="failed"),
        pytest.param(lambda wanted: FetchResponse(error_code=ErrorCode.KAFKA_STORAGE_ERROR), id="refused as a whole"),
        pytest.param(lambda wanted: CLOSE, id="closed"),
        pytest.param(lambda wanted: ListOffsetsResponse(), id="unreadable"),
        pytest.param(lambda wanted: FetchResponse(), id="silent about it"),
    ],
)
async def test_trouble_passes(tmp_path: Path, trouble: Say) -> None:
    leader = Leader()
    leader.say(trouble, PartitionData(records=batches(0, b"a")))
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.values == [b"a"])


async def test_an_answer_that_is_too_late_is_not_taken(tmp_path: Path) -> None:
    """The partition has another leader meanwhile, or is deleted."""
    leader, heir = Leader(), Leader(HEIR)
    gate = trio.Event()

    async def late() -> FetchResponse:
        await gate.wait()
        return _response(PartitionData(records=batches(0, b"late")))

    leader.say(lambda wanted: Parked(late))
    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: len(leader.asked) == 1)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        heir.say(PartitionData(records=batches(0, b"a", epoch=1)))
        gate.set()
        await until(lambda: broker.values == [b"a"])
        partition = broker.partition
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        asked = len(heir.asked)
        heir.say(PartitionData(records=batches(1, b"b", epoch=1)))
        await trio.sleep(3 * WAIT_MS / 1000)
        assert len(heir.asked) <= asked + 1
        assert not broker.replicas.holds(partition)


@pytest.mark.parametrize("new_leader", [FOLLOWER, HEIR])
async def test_a_response_of_a_former_leader_epoch_changes_no_log_before_the_fetcher_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_leader: int
) -> None:
    """A fetcher never changes a log after its leadership has moved. ``ReplicaManager.applyLocalLeadersDelta`` removes
    the partition from its fetcher before the broker leads. Here the task that updates the fetcher runs later.
    """
    leader = Leader()
    gate = trio.Event()

    async def late() -> FetchResponse:
        await gate.wait()
        return _response(PartitionData(records=batches(0, b"late")))

    leader.say(lambda wanted: Parked(late))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) == 1)
        monkeypatch.setattr(Fetcher, "follow", lambda fetcher, partitions: None)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=new_leader))
        gate.set()
        await until(lambda: len(leader.asked) >= 2)
        assert broker.values == []


async def test_an_unreachable_leader_gets_the_request_when_it_is_back(tmp_path: Path) -> None:
    """At the address that the metadata has then."""
    leader = Leader()
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 1)
        port, leader.port = leader.port, 1
        leader.say(lambda wanted: CLOSE)
        await broker.hear(registration(LEADER, 30, leader.port))
        await until(lambda: not leader.saying)
        asked = len(leader.asked)
        await trio.sleep(2 * BACKOFF_MS / 1000)
        assert len(leader.asked) == asked
        leader.port = port
        leader.say(PartitionData(records=batches(0, b"a")))
        await broker.hear(registration(LEADER, 31, leader.port))
        await until(lambda: broker.values == [b"a"])


async def parted_at_1(broker: Broker, leader: Leader, heir: Leader) -> None:
    """The follower has four records, all durable and noted as that, when a leader comes that has one of them."""
    await until(lambda: broker.values == [b"a", b"b", b"c", b"d"])
    broker.partition.log.flush()
    broker.partition.cleaned_offset = 3
    await broker.replicas.checkpoints.write()
    heir.say(
        PartitionData(diverging_epoch=EpochEndOffset(0, 1)),
        PartitionData(records=batches(1, b"x", b"y", b"z", epoch=1), high_watermark=2),
    )
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))


FOUR = PartitionData(records=batches(0, b"a", b"b", b"c", b"d"), high_watermark=4)


async def test_checkpoints_are_lowered_before_a_log_is_cut(tmp_path: Path) -> None:
    """LogManager.truncateTo ends with checkpointRecoveryOffsetsInDir. The order here leaves no time between."""
    leader, heir = Leader(), Leader(HEIR)
    leader.say(FOUR)
    async with following(tmp_path, leader, heir) as broker:
        await parted_at_1(broker, leader, heir)
        await until(lambda: broker.values == [b"a", b"x", b"y", b"z"])
        written = Checkpoints.read(str(tmp_path))
        assert [written.offset(name, ("topic", 0)) for name in FILES] == [1, 0, 1, 1]


async def test_a_power_cut_after_a_truncation_loses_only_unflushed_records(tmp_path: Path) -> None:
    """The disk has the second page after the truncation, but not the first. The statement "all records below the
    recovery point are flushed" must not cover the new records there.
    """
    leader, heir = Leader(), Leader(HEIR)
    path, copied = tmp_path / "data", tmp_path / "copied"
    path.mkdir()
    leader.say(FOUR)
    async with following(path, leader, heir) as broker:
        await parted_at_1(broker, leader, heir)
        await until(lambda: broker.values == [b"a", b"x", b"y", b"z"])
        shutil.copytree(path, copied)
        image = broker.loader.image
    log = copied / "topic-0" / "00000000000000000000.log"
    size = len(batches(0, b"a"))
    log.write_bytes(log.read_bytes()[:size] + bytes(size) + log.read_bytes()[2 * size :])
    restarted = broker_in(copied, FOLLOWER)
    restarted.replicas.directories[0].last_stop = LastStop.POWER_LOST
    await restarted.replicas.load(image)
    assert restarted.values == [b"a"]


async def test_a_log_truncated_below_its_start_keeps_later_records_after_a_kill(tmp_path: Path) -> None:
    """DeleteRecords had moved the start to 3 before an unclean election gave the partition a log that ends at 1."""
    leader, heir = Leader(), Leader(HEIR)
    path, copied = tmp_path / "data", tmp_path / "copied"
    path.mkdir()
    leader.say(FOUR)
    async with following(path, leader, heir) as broker:
        await until(lambda: broker.partition.high_watermark == 4)
        leader.start_offset = 3
        await until(lambda: broker.partition.log.log_start_offset == 3)
        await broker.replicas.checkpoints.write()
        heir.say(
            PartitionData(diverging_epoch=EpochEndOffset(0, 1)),
            PartitionData(records=batches(1, b"w", b"x", b"y", b"z", epoch=1), high_watermark=2),
        )
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.partition.log.log_end_offset == 5)
        shutil.copytree(path, copied)
        image = broker.loader.image
    restarted = broker_in(copied, FOLLOWER)
    await restarted.replicas.load(image)
    assert restarted.values == [b"w", b"x", b"y", b"z"]
    assert restarted.partition.high_watermark <= 2


async def test_a_log_is_not_cut_that_this_broker_leads_by_the_time_the_checkpoints_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, heir = Leader(), Leader(HEIR)
    leader.say(FOUR)
    began, end = trio.Event(), threading.Event()

    def write_slowly(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        trio.from_thread.run_sync(began.set)
        assert end.wait(10)
        write_offsets(path, offsets)

    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: broker.values == [b"a", b"b", b"c", b"d"])
        heir.say(PartitionData(diverging_epoch=EpochEndOffset(0, 1)))
        monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write_slowly)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await began.wait()
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=FOLLOWER))
        end.set()
        await broker.replicas.checkpoints.write()
        assert broker.values == [b"a", b"b", b"c", b"d"]
        assert broker.partition.log.cuts == 0


async def test_very_many_partitions_are_fetched_in_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``MAX_ELEMENTS``: a leader closes the connection of a request that has more."""
    monkeypatch.setattr("kraft.replication.fetchers._FETCHED_AT_ONCE", 4)
    broker = broker_in(tmp_path, FOLLOWER)
    await broker.hear(*topic(LEADER, FOLLOWER, leader=LEADER, partitions=10))
    absent: Any = None
    fetcher = Fetcher(LEADER, absent, broker.replicas, absent, absent, Throttle(FOLLOWER_RATE, broker.replicas))
    fetcher.follow(broker.replicas.all())
    requested = [[index for _, index in fetcher.due()] for _ in range(5)]
    assert requested == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1], [2, 3, 4, 5], [6, 7, 8, 9]]
    for partition in broker.replicas.all():
        partition.log.abandon()
