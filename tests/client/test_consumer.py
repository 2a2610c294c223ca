"""The consumer: changes of leader, batches without data records, and damaged batches."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from kraft.client.cluster import EARLIEST_TIMESTAMP, LOOKUP_TIMEOUT_S, METADATA_MAX_AGE_S, TIMEOUT_S, open_cluster
from kraft.client.consumer import Consumer
from kraft.client.producer import Producer
from kraft.client.retry import GaveUp
from kraft.messages.fetch_response import PartitionData
from kraft.wire.errors import ErrorCode, KafkaError
from tests.client.talk import TOPIC, FakeCluster, batch, lead_a_topic, log, relayed_node, servers_of
from tests.support.trio_cluster import QUICK_LEASES, cluster_in


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
async def test_a_leader_that_goes_is_succeeded(tmp_path: Path, is_killed: bool) -> None:
    async with cluster_in(tmp_path, QUICK_LEASES) as brokers:
        leader = await lead_a_topic(brokers)
        other = next(node_id for node_id in brokers.members if node_id != leader)
        async with (
            open_cluster(f"127.0.0.1:{brokers.members[leader].port}") as cluster,
            open_cluster(servers_of(brokers)) as others,
        ):
            producer, consumer = Producer(others, TOPIC), Consumer(cluster, TOPIC)
            await producer.start()
            await consumer.start(EARLIEST_TIMESTAMP)
            await producer.send([(None, b"before")])
            assert await next_values(consumer) == [b"before"]
            await (brokers.members[leader].kill() if is_killed else brokers.members[leader].stop())
            await producer.send([(None, b"after")])
            assert await next_values(consumer) == [b"after"]
            assert (await others.leaders(TOPIC))[0] != leader
            assert brokers.members[other].node is not None


async def next_values(consumer: Consumer) -> list[bytes | None]:
    while not (found := await consumer.poll(0.5)):
        pass
    return [record.value for _, record in found]


async def test_a_cluster_that_is_gone_is_given_up_in_time() -> None:
    async with relayed_node() as (_, bootstrap):
        async with open_cluster(bootstrap) as cluster:
            consumer = Consumer(cluster, TOPIC, retry_timeout_s=3.0)
            await consumer.start(EARLIEST_TIMESTAMP)
            cluster.close()
            assert await consumer.poll(0) == [], "a connection that was lost is opened again"
    with pytest.raises(GaveUp, match=r"topic orders: gave up after 3 seconds: Cannot connect to "):
        await consumer.poll(0)


async def started(
    logs: dict[int, PartitionData], *, retry_timeout_s: float = 0.3, **led: int
) -> tuple[Consumer, FakeCluster]:
    cluster = FakeCluster(logs, {int(name[1:]): leader for name, leader in led.items()})
    consumer = Consumer(cluster, TOPIC, retry_timeout_s=retry_timeout_s)
    await consumer.start(0)
    return consumer, cluster


async def offsets(consumer: Consumer, max_records: float = 1000) -> list[tuple[int, int]]:
    return [(partition, record.offset) for partition, record in await consumer.poll(0, max_records)]


async def test_a_batch_that_lost_its_last_records_does_not_hold_the_position() -> None:
    """Compaction removes records and keeps the batch's last offset, so Kafka's CompletedFetch goes on at its
    ``nextOffset()``. Else the same batch would be fetched for ever.
    """
    consumer, _ = await started({0: log(0, batch(0, 2, last_offset=9))})
    assert await offsets(consumer) == [(0, 0), (0, 1)]
    assert consumer.positions == {0: 10}


async def test_a_control_batch_is_passed_over() -> None:
    consumer, _ = await started({0: log(0, batch(0, 1), batch(1, 1, control=True, transactional=True), batch(2, 1))})
    assert await offsets(consumer) == [(0, 0), (0, 2)]
    assert consumer.positions == {0: 3}


async def test_the_position_passes_only_returned_records() -> None:
    """``max_records`` cuts within a partition and before the next one, whose control batch is no reason to move on."""
    marker = batch(2, 1, control=True, transactional=True)
    consumer, _ = await started({0: log(0, batch(0, 2)), 1: log(1, batch(0, 2), marker)})
    assert await offsets(consumer, 1) == [(0, 0)]
    assert consumer.positions == {0: 1, 1: 0}
    assert await offsets(consumer, 1) == [(1, 0)]
    assert await offsets(consumer, 2) == [(0, 1), (1, 1)]
    assert consumer.positions == {0: 2, 1: 3}


@pytest.mark.parametrize("leader", [1, 2], ids=["one leader", "two leaders"])
async def test_no_partition_starves(leader: int) -> None:
    """``Consumer.poll``: "The next call begins with partitions of which this one returned no records". Partition 1 has
    none.
    """
    logs = {0: log(0, batch(0, 100)), 1: log(1), 2: log(2, batch(0, 100))}
    consumer, _ = await started(logs, p2=leader)
    returned = [{partition for partition, _ in await offsets(consumer, 5)} for _ in range(6)]
    assert min(returned.count({0}), returned.count({2})) >= 2


async def test_a_partition_without_room_in_the_response_is_asked_for_first() -> None:
    """KIP-74: a broker fills a response in the order of the request, up to its ``max_bytes``. So Kafka's
    ``SubscriptionState.movePartitionToEnd`` moves a partition that returned bytes.
    """
    consumer, cluster = await started({0: log(0, batch(0, 1)), 1: log(1), 2: log(2, batch(0, 1)), 3: log(3)})
    await offsets(consumer)
    await offsets(consumer)
    assert [list(asked) for asked in cluster.asked] == [[0, 1, 2, 3], [1, 3, 0, 2]]


async def test_a_poll_waits_longer_than_a_request_may_take(autojump_clock: trio.testing.MockClock) -> None:
    """``fetch.max.wait.ms``: "the maximum amount of time the server will block before answering", 500 ms. It is shorter
    than ``request.timeout.ms``. ``KafkaConsumer.poll`` fetches again until its own timeout.
    """
    consumer, cluster = await started({0: log(0)}, retry_timeout_s=TIMEOUT_S)
    assert await consumer.poll(2 * TIMEOUT_S) == []
    assert trio.current_time() == pytest.approx(2 * TIMEOUT_S)
    assert max(cluster.waits_ms) == 500


async def test_a_poll_returns_as_soon_as_there_are_records(autojump_clock: trio.testing.MockClock) -> None:
    consumer, cluster = await started({0: log(0)}, retry_timeout_s=TIMEOUT_S)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_append_after, cluster, 7.0)
        assert [record.offset for _, record in await consumer.poll(2 * TIMEOUT_S)] == [0]
    assert trio.current_time() == pytest.approx(7.0, abs=0.5)


async def _append_after(cluster: FakeCluster, seconds: float) -> None:
    await trio.sleep(seconds)
    cluster.logs[0] = log(0, batch(0, 1))


async def test_records_before_the_position_are_left_out() -> None:
    consumer, _ = await started({0: log(0, batch(0, 4))})
    consumer.positions = {0: 2}
    assert await offsets(consumer) == [(0, 2), (0, 3)]


async def test_records_before_a_damaged_batch_are_returned_first() -> None:
    damaged = bytearray(batch(2, 2))
    damaged[-1] ^= 1
    consumer, _ = await started({0: log(0, batch(0, 2), bytes(damaged))})
    assert await offsets(consumer) == [(0, 0), (0, 1)]
    with pytest.raises(KafkaError, match="partition orders-0 has a batch that cannot be read") as error:
        await offsets(consumer)
    assert error.value.code == ErrorCode.CORRUPT_MESSAGE


async def test_a_batch_that_was_cut_is_fetched_again() -> None:
    consumer, _ = await started({0: log(0, batch(0, 2), batch(2, 2)[:-3])})
    assert await offsets(consumer) == [(0, 0), (0, 1)]
    assert consumer.positions == {0: 2}


@pytest.mark.parametrize("how", ["no leader", "refused", "not leader"])
async def test_a_partition_without_a_leader_does_not_hold_up_the_others(how: str) -> None:
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER if how == "not leader" else ErrorCode.NONE
    consumer, cluster = await started({0: log(0, error=error), 1: log(1, batch(0, 1))})
    if how == "no leader":
        cluster.led = {0: -1}
    if how == "refused":
        cluster.led = {0: 13}
    assert await offsets(consumer) == [(1, 0)]
    cluster.logs[1] = log(1)
    with pytest.raises(GaveUp):
        await offsets(consumer)


async def test_a_partition_that_is_added_is_consumed_from_its_earliest_offset(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """``Consumer.start``: "With all, a partition that is added to the topic later begins at its earliest offset".
    ``metadata.max.age.ms``: "the period of time in milliseconds after which we force a refresh of metadata … to
    proactively discover any new brokers or partitions".
    """
    consumer, cluster = await started({0: log(0, batch(0, 1))})
    chosen = Consumer(cluster, TOPIC)
    await chosen.start(0, partitions=[0])
    assert await offsets(consumer) == await offsets(chosen) == [(0, 0)]
    cluster.logs[1] = log(1, batch(3, 2), start=3)
    assert await offsets(consumer) == []
    await trio.sleep(METADATA_MAX_AGE_S)
    assert await offsets(consumer) == [(1, 3), (1, 4)]
    assert await offsets(chosen) == []
    assert (consumer.positions, chosen.positions) == ({0: 1, 1: 5}, {0: 1})


@pytest.mark.parametrize("how", ["no metadata", "no leader of the new partition"])
async def test_records_are_returned_without_new_metadata(autojump_clock: trio.testing.MockClock, how: str) -> None:
    """Kafka's ``NetworkClient.DefaultMetadataUpdater`` repeats a failed update beside the fetches."""
    consumer, cluster = await started({0: log(0, batch(0, 1))})
    assert await offsets(consumer) == [(0, 0)]
    cluster.logs = {0: log(0, batch(1, 1)), 1: log(1, batch(0, 1))}
    cluster.is_hidden, cluster.led = how == "no metadata", {1: 13}
    await trio.sleep(METADATA_MAX_AGE_S)
    assert await offsets(consumer) == [(0, 1)]
    assert await offsets(consumer) == []
    assert cluster.lookups == 2, "not one for each poll"
    cluster.is_hidden, cluster.led = False, {}
    await trio.sleep(LOOKUP_TIMEOUT_S)
    assert await offsets(consumer) == [(1, 0)]


async def test_records_are_returned_while_a_leader_and_metadata_are_missing() -> None:
    """As a broker that is the leader of one partition and has the only metadata restarts."""
    consumer, cluster = await started({0: log(0, batch(0, 1)), 1: log(1, batch(0, 1))}, p1=13)
    assert await offsets(consumer) == [(0, 0)]
    cluster.logs[0], cluster.is_hidden = log(0, batch(1, 1)), True
    assert await offsets(consumer) == [(0, 1)]
    with pytest.raises(GaveUp, match="no broker has metadata"):
        await offsets(consumer)


async def test_an_offset_outside_the_log_is_refused_at_once() -> None:
    consumer, cluster = await started({0: log(0, error=ErrorCode.OFFSET_OUT_OF_RANGE)})
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE: offset 0 is not in the log of orders-0"):
        await offsets(consumer)
    assert len(cluster.asked) == 1


async def test_a_partition_that_does_not_exist() -> None:
    with pytest.raises(KafkaError, match="topic orders has no partition 3"):
        await Consumer(FakeCluster({0: log(0)}), TOPIC).start(0, partitions=[0, 3])
