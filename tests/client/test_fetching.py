"""Whole batches of one partition: which are returned, and where the next fetch begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.client.cluster import EARLIEST_TIMESTAMP, Cluster, open_cluster
from kraft.client.fetching import IsolationLevel, PartitionFetcher
from kraft.client.producer import Producer
from kraft.client.retry import GaveUp
from kraft.messages.fetch_response import AbortedTransaction, PartitionData
from kraft.records.control import ControlType, control_record
from kraft.records.record import encode_batch
from kraft.wire.errors import ErrorCode, KafkaError
from tests.client.talk import TOPIC, FakeCluster, batch, lead_a_topic, log, servers_of
from tests.support.trio_cluster import QUICK_LEASES, cluster_in

COMMITTED = IsolationLevel.READ_COMMITTED


def marker(offset: int, producer: int, kind: ControlType) -> bytes:
    record = control_record(kind, bytes(6), offset=offset, timestamp=0)
    return encode_batch([record], base_offset=offset, producer_id=producer, control=True, transactional=True)


def fetcher(
    cluster: Cluster, offset: int = 0, level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> PartitionFetcher:
    return PartitionFetcher(cluster, TOPIC, 0, offset, isolation_level=level, retry_timeout_s=0.3)


async def base_offsets(answer: PartitionData, offset: int = 0, level: IsolationLevel = COMMITTED) -> list[int]:
    reader = fetcher(FakeCluster({0: answer}), offset, level)
    return [header.base_offset for _, header in (await reader.next(0)).batches]


async def test_the_next_fetch_begins_behind_the_last_complete_batch() -> None:
    """Compaction removes records and keeps the batch's last offset; the leader cuts a response at its maximum size."""
    cluster = FakeCluster({0: log(0, batch(0, 2, last_offset=9), batch(10, 2), batch(12, 2)[:-3])})
    reader = fetcher(cluster, 1)
    found = await reader.next(0)
    assert [header.base_offset for _, header in found.batches] == [0, 10]
    assert (found.next_offset, reader.offset) == (12, 12)
    await reader.next(0)
    assert cluster.asked == [{0: 1}, {0: 12}]


async def test_batches_below_the_offset_and_control_batches_are_passed_over() -> None:
    answer = log(0, batch(0, 2), marker(2, 7, ControlType.COMMIT), batch(3, 1))
    assert await base_offsets(answer, 2, IsolationLevel.READ_UNCOMMITTED) == [3]


async def test_read_committed_leaves_out_aborted_transactions() -> None:
    """KIP-98: the response lists aborted transactions by producer and first offset; the abort marker ends each."""
    answer = log(
        0,
        batch(0, 1),
        batch(1, 1, producer_id=7, transactional=True),  # aborted
        batch(2, 1, producer_id=8, transactional=True),
        batch(3, 1, producer_id=7, transactional=True),  # aborted
        marker(4, 7, ControlType.ABORT),
        marker(5, 8, ControlType.COMMIT),
        batch(6, 1, producer_id=7, transactional=True),
        batch(7, 1, producer_id=7, transactional=True),  # aborted
        batch(8, 1),
    )
    answer.aborted_transactions = [
        AbortedTransaction(producer_id=7, first_offset=7),
        AbortedTransaction(producer_id=7, first_offset=1),
    ]
    assert await base_offsets(answer) == [0, 2, 6, 8]
    assert await base_offsets(answer, level=IsolationLevel.READ_UNCOMMITTED) == [0, 1, 2, 3, 6, 7, 8]


async def test_an_offset_outside_the_log_is_refused_at_once() -> None:
    cluster = FakeCluster({0: log(0, error=ErrorCode.OFFSET_OUT_OF_RANGE)})
    with pytest.raises(KafkaError, match="offset 5 of orders-0") as caught:
        await fetcher(cluster, 5).next(0)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert len(cluster.asked) == 1


async def test_batches_before_a_damaged_header_are_returned_first() -> None:
    damaged = bytearray(batch(2, 2))
    damaged[16] = 9  # magic
    reader = fetcher(FakeCluster({0: log(0, batch(0, 2), bytes(damaged))}))
    assert (await reader.next(0)).next_offset == 2
    reader = fetcher(FakeCluster({0: log(0, bytes(damaged))}), 2)
    with pytest.raises(KafkaError, match="cannot read the batch at offset 2 of orders-0: unknown magic 9"):
        await reader.next(0)


async def test_a_leader_that_stays_away_is_given_up_in_time() -> None:
    cluster = FakeCluster({0: log(0)}, {0: 13})
    with pytest.raises(GaveUp, match=r"fetch from orders-0: gave up after 0\.3 seconds: nobody listens"):
        await fetcher(cluster).next(0)


async def test_a_leader_that_is_stopped_is_succeeded(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, QUICK_LEASES) as brokers:
        leader = await lead_a_topic(brokers)
        async with open_cluster(servers_of(brokers)) as cluster:
            producer = Producer(cluster, TOPIC)
            await producer.start()
            await producer.send([(None, b"before")])
            assert await cluster.offsets(TOPIC, {0: EARLIEST_TIMESTAMP}) == {0: 0}
            reader = PartitionFetcher(cluster, TOPIC, 0, 0, retry_timeout_s=60)
            assert (await reader.next(1)).next_offset == 1
            await brokers.members[leader].stop()
            await producer.send([(None, b"after")])
            while reader.offset < 2:
                await reader.next(1)
            assert (await cluster.leaders(TOPIC))[0] != leader
