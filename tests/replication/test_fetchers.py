"""A follower's requests, what it appends of the responses, and trouble with its leader."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from kraft.config.throttle_settings import FOLLOWER_RATE
from kraft.messages.fetch_request import FetchPartition
from kraft.messages.fetch_response import EpochEndOffset, FetchResponse, PartitionData
from kraft.messages.list_offsets_response import (
    ListOffsetsResponse,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.records.batch import iter_headers
from kraft.replication.fetchers import Fetcher
from kraft.replication.partition import HostedPartition
from kraft.replication.throttle import Throttle
from kraft.rpc.channel import CLOSE, Parked
from kraft.rpc.client import Connection
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode
from kraft.wire.varint import Buffer
from tests.replication.following import (
    BACKOFF_MS,
    BROKER_EPOCH,
    FOLLOWER,
    HEIR,
    LEADER,
    WAIT_MS,
    Leader,
    Say,
    batches,
    following,
    response_with,
)
from tests.support.eventually import until
from tests.support.held import TOPIC_ID, broker_in, registration, topic


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

    monkeypatch.setattr("tests.replication.following.connect", never)
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
        return response_with(PartitionData(records=batches(0, b"late")))

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
        return response_with(PartitionData(records=batches(0, b"late")))

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
