"""Replication throttles (KIP-73): the rate bounds throttled replicas that are not in sync, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kraft.api.context import BrokerContext
from kraft.api.fetch import at_broker
from kraft.config.throttle_settings import FOLLOWER_RATE, LEADER_RATE, MOVE_RATE
from kraft.messages.config_record import ConfigRecord
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from kraft.messages.fetch_response import FetchResponse
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import ResourceType
from kraft.replication.fetchers import Fetcher
from kraft.replication.throttle import Throttle
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.wire.splice import FileSlice
from tests.support.held import TOPIC, TOPIC_ID, Broker, broker_in, leader_in, registration, serving, topic
from tests.support.talk import batch

BROKER, OF_TOPIC = ResourceType.BROKER, ResourceType.TOPIC
INFO = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "test")
REPLICAS = "leader.replication.throttled.replicas"


@pytest.fixture
async def leader(tmp_path: Path) -> AsyncIterator[Broker]:
    async with leader_in(tmp_path, 2, 1, 2) as it:
        yield it


async def throttled(broker: Broker, replicas: str, key: str = REPLICAS) -> None:
    """Throttle these replicas of the topic."""
    await broker.hear(ConfigRecord(OF_TOPIC, TOPIC, key, replicas))


async def fetched(context: BrokerContext, epoch: int, *partitions: int) -> list[int]:
    """The bytes of each partition that broker 2 gets from the start of the log."""
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in partitions]
    message = FetchRequest(
        replica_state=ReplicaState(2, epoch),
        max_wait_ms=0,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=wanted)],
    )
    reply = await at_broker(context, Request(1, 17, 0, "t", b"", 0, INFO), message)
    assert isinstance(reply, FetchResponse)
    (answered,) = reply.responses
    assert all(each.error_code == 0 for each in answered.partitions)
    return [each.records.length if isinstance(each.records, FileSlice) else 0 for each in answered.partitions]


@pytest.mark.parametrize(
    ("replicas", "applies"),
    [
        ("", (False, False)),
        ("*", (True, True)),
        ("0:1", (True, False)),
        ("0:2,1:1", (False, True)),
        ("1:2", (False, False)),
    ],
)
async def test_a_topic_names_its_throttled_replicas(leader: Broker, replicas: str, applies: tuple[bool, bool]) -> None:
    """KIP-73: partition:broker, or * for all replicas of the topic."""
    await throttled(leader, replicas)
    partitions = leader.replicas.partitions[TOPIC]
    assert tuple(Throttle(LEADER_RATE, leader.replicas).applies_to(partitions[index]) for index in (0, 1)) == applies
    assert not Throttle(FOLLOWER_RATE, leader.replicas).applies_to(partitions[0])
    assert Throttle(MOVE_RATE, leader.replicas).applies_to(partitions[0])


async def test_the_rate_of_the_broker_comes_before_that_of_all(leader: Broker) -> None:
    """KIP-226. Without a rate nothing is exceeded."""
    throttle = Throttle(LEADER_RATE, leader.replicas)
    throttle.record(1000)
    assert not throttle.is_exceeded
    await leader.hear(ConfigRecord(BROKER, "", LEADER_RATE, "500"))
    assert throttle.is_exceeded
    await leader.hear(ConfigRecord(BROKER, "1", LEADER_RATE, "1000"))
    assert not throttle.is_exceeded
    await leader.hear(ConfigRecord(BROKER, "1", LEADER_RATE, "abc"))
    assert not throttle.is_exceeded, "another version accepted it"


async def test_a_follower_out_of_sync_gets_nothing_beyond_the_rate(leader: Broker) -> None:
    """ReplicaManager.shouldLeaderThrottle: throttled, not in sync, and the rate is exceeded."""
    for partition in leader.replicas.all():
        partition.append(bytearray(batch(b"x" * 1000)), 0)
    size = leader.partition.log.size
    context = serving(leader.replicas)
    for index in (0, 1):
        await leader.hear(PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, isr=[1]))
    await throttled(leader, "0:1")
    await leader.hear(ConfigRecord(BROKER, "1", LEADER_RATE, "0"))
    assert await fetched(context, 6, 0, 1) == [size, size], "nothing is counted yet"
    assert await fetched(context, 6, 0, 1) == [0, size], "partition 1 is not throttled"
    await leader.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1, 2]))
    assert await fetched(context, 6, 0, 1) == [size, size], "in sync"
    await leader.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))
    assert await fetched(context, 6, 0) == [0]
    await leader.hear(ConfigRecord(BROKER, "1", LEADER_RATE, None))
    assert await fetched(context, 6, 0) == [size], "without a rate"


async def test_a_follower_rests_beyond_the_rate(tmp_path: Path) -> None:
    """ReplicaFetcherThread.shouldFollowerThrottle: the partition is in no Fetch until the rate allows it."""
    broker = broker_in(tmp_path, 2)
    await broker.replicas.registered(6)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1, partitions=2))
    await throttled(broker, "0:2", "follower.replication.throttled.replicas")
    await broker.hear(ConfigRecord(BROKER, "2", FOLLOWER_RATE, "0"))
    throttle = Throttle(FOLLOWER_RATE, broker.replicas)
    absent: Any = None
    fetcher = Fetcher(1, absent, broker.replicas, absent, absent, throttle)
    first, second = (broker.replicas.partitions[TOPIC][index] for index in (0, 1))
    fetcher.follow([first, second])
    assert {index for _, index in fetcher.due()} == {0, 1}
    throttle.record(1)
    assert {index for _, index in fetcher.due()} == {1}
    await broker.hear(ConfigRecord(BROKER, "2", FOLLOWER_RATE, None))
    fetcher.follow([])
    fetcher.follow([first, second])
    assert {index for _, index in fetcher.due()} == {0, 1}
    for partition in (first, second):
        partition.log.abandon()
