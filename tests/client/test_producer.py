"""The producer: once and in order, through lost answers and lost leaders."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import cast

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner import default as kafka_python

from kraft.client.cluster import LATEST_TIMESTAMP, LOOKUP_TIMEOUT_S, METADATA_MAX_AGE_S, Cluster, open_cluster
from kraft.client.producer import ALL_REPLICAS, NO_ACKNOWLEDGEMENT, Producer, murmur2
from kraft.client.retry import ClusterUnreachable, GaveUp, retried
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic
from kraft.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kraft.messages.registry import ApiKey
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode, KafkaError
from tests.client.talk import TOPIC, lead_a_topic, relayed_node, servers_of, values
from tests.support.eventually import eventually_async
from tests.support.trio_cluster import QUICK_LEASES, cluster_in


@pytest.mark.parametrize(("acks", "copies"), [(ALL_REPLICAS, 1), (1, 2)])
async def test_a_batch_whose_answer_was_lost_is_stored_once(acks: int, copies: int) -> None:
    """KIP-98: "the broker will reject a produce request if its sequence number is not exactly one greater than the last
    committed message". With acks=1 there is no sequence number, and the retry is stored again: the test can fail.
    """
    async with relayed_node() as (relay, bootstrap), open_cluster(bootstrap) as cluster:
        producer = Producer(cluster, TOPIC, acks=acks)
        await producer.start()
        await producer.send([(None, b"a")])
        relay.loses[ApiKey.PRODUCE] = 1
        await producer.send([(None, b"b")])
        await producer.send([(None, b"c")])
        assert (producer.stored, producer.uncertain) == (3, 0)
        assert await values(cluster, 2 + copies) == [b"a", *[b"b"] * copies, b"c"]


async def test_records_without_an_acknowledgement_are_uncertain() -> None:
    async with relayed_node() as (relay, bootstrap), open_cluster(bootstrap) as cluster:
        producer = Producer(cluster, TOPIC, delivery_timeout_s=5.0)
        await producer.start()
        await producer.send([(None, b"a")])
        relay.loses[ApiKey.PRODUCE] = 1_000_000
        with pytest.raises(GaveUp, match=r"orders-0: gave up after 5 seconds: "):
            await producer.send([(None, b"b"), (None, b"c")])
        assert (producer.stored, producer.uncertain) == (1, 2)
        relay.loses.clear()
        with pytest.raises(RuntimeError, match="make another producer"):
            await producer.send([(None, b"d"), (None, b"e")])
        assert await values(cluster, 3) == [b"a", b"b", b"c"]


@attrs.define
class Refusing:
    """A cluster, and the connection to its only broker, whose responses to Produce have the next of ``codes``."""

    codes: Iterator[ErrorCode]
    partitions: int = 1

    async def topic(self, name: str, *, create: bool) -> MetadataResponseTopic:
        return MetadataResponseTopic(name=name, partitions=[MetadataResponsePartition()] * self.partitions)

    async def leaders(self, topic: str) -> dict[int, int]:
        return {0: 1}

    def change_server(self) -> None:
        """There is only one."""

    async def retried(self, attempt: Callable[[], Awaitable[object]], what: str, timeout_s: float) -> object:
        return await retried(attempt, what, timeout_s)

    async def connection(self, node_id: int) -> Refusing:
        return self

    def highest_common_version(self, message: object) -> int:
        return 9

    async def request(self, message: object, version: int) -> ProduceResponse:
        answer = PartitionProduceResponse(index=0, error_code=next(self.codes), base_offset=-1)
        return ProduceResponse([TopicProduceResponse(TOPIC, partition_responses=[answer])])


@pytest.mark.parametrize(
    ("code", "uncertain"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, 2),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 2),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2),
        (ErrorCode.KAFKA_STORAGE_ERROR, 2),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 0),
    ],
)
async def test_records_are_uncertain_after_an_error_that_may_follow_an_append(
    autojump_clock: object, code: ErrorCode, uncertain: int
) -> None:
    """Apache's leader returns NOT_LEADER_OR_FOLLOWER both before an append and for a pending Produce whose leadership
    ends (``Partition.checkEnoughReplicasReachOffset``). A storage error may come after a part of the write.
    """
    cluster = cast(Cluster, Refusing(itertools.repeat(code)))
    producer = Producer(cluster, TOPIC, acks=1, delivery_timeout_s=1.0)
    await producer.start()
    with pytest.raises(GaveUp):
        await producer.send([(None, b"a"), (None, b"b")])
    assert (producer.stored, producer.uncertain) == (0, uncertain)


async def test_a_batch_that_the_leader_refuses_is_not_uncertain() -> None:
    async with relayed_node() as (_, bootstrap), open_cluster(bootstrap) as cluster:
        producer = Producer(cluster, TOPIC)
        await producer.start()
        with pytest.raises(KafkaError) as refused:
            await producer.send([(None, bytes(2_000_000))])
        assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
        assert (producer.stored, producer.uncertain) == (0, 0)
        await producer.send([(None, b"small")])
        assert producer.stored == 1


@pytest.mark.kraft(topics={TOPIC: 1}, settings={"message.max.bytes": "500"})
@pytest.mark.parametrize("acks", [ALL_REPLICAS, 1])
async def test_a_batch_that_is_too_large_is_split(kraft_cluster: EmbeddedCluster, acks: int) -> None:
    """``Sender.completeBatch``: "If the batch is too large, we split the batch and send the split batches again"."""
    sent = [b"%02d" % number * 50 for number in range(21)]
    async with open_cluster(kraft_cluster.bootstrap_servers) as cluster:
        producer = Producer(cluster, TOPIC, acks=acks)
        await producer.start()
        await producer.send([(None, value) for value in sent])
        await producer.send([(None, b"after")])
        assert (producer.stored, producer.uncertain) == (22, 0)
        assert await values(cluster, 22) == [*sent, b"after"]


@pytest.mark.kraft(topics={TOPIC: 1}, settings={"message.max.bytes": "500"})
async def test_a_record_that_is_too_large_ends_the_batch_before_it(kraft_cluster: EmbeddedCluster) -> None:
    """``Producer.send``: "The records before it are stored; those after it were not sent"."""
    async with open_cluster(kraft_cluster.bootstrap_servers) as cluster:
        producer = Producer(cluster, TOPIC)
        await producer.start()
        with pytest.raises(KafkaError) as refused:
            await producer.send([(None, value) for value in (b"a", b"b", bytes(600), b"c")])
        assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
        assert (producer.stored, producer.uncertain) == (2, 0)
        await producer.send([(None, b"d")])
        assert await values(cluster, 3) == [b"a", b"b", b"d"]


async def test_a_batch_that_may_be_stored_is_not_split(autojump_clock: object) -> None:
    """KIP-98: the leader knows a batch that it has by its first and its last sequence number. A half has others."""
    codes = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.MESSAGE_TOO_LARGE]
    producer = Producer(cast(Cluster, Refusing(iter(codes))), TOPIC, acks=1)
    await producer.start()
    with pytest.raises(KafkaError) as refused:
        await producer.send([(None, b"a"), (None, b"b")])
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert (producer.stored, producer.uncertain) == (0, 2)


async def test_producers_begin_at_random_partitions() -> None:
    """``BuiltInPartitioner.nextPartition``: otherwise many short tasks, such as Spark's, would fill one partition."""
    cluster = cast(Cluster, Refusing(iter(()), partitions=6))
    chosen = set()
    for seed in range(100):
        producer = Producer(cluster, TOPIC, acks=1, randrange=Random(seed).randrange)
        await producer.start()
        chosen.add(producer.choose(None))
    assert chosen == set(range(6))


@attrs.define
class Growing(Refusing):
    """The topic has ``partitions`` in the metadata, and metadata requests fail as long as ``is_hidden``."""

    is_hidden: bool = False

    async def leaders(self, topic: str) -> dict[int, int]:
        if self.is_hidden:
            raise ClusterUnreachable("no broker has metadata")
        return dict.fromkeys(range(self.partitions), 1)


async def test_partitions_that_are_added_are_taken_into_use(autojump_clock: object) -> None:
    """``metadata.max.age.ms``: "the period of time in milliseconds after which we force a refresh of metadata … to
    proactively discover any new brokers or partitions". Without metadata the producer goes on with those that it knows.
    """
    cluster = Growing(itertools.repeat(ErrorCode.NONE))
    producer = Producer(cast(Cluster, cluster), TOPIC, acks=1)
    await producer.start()
    await producer.send([(b"k", b"a")])
    cluster.partitions, cluster.is_hidden = 4, True
    await trio.sleep(METADATA_MAX_AGE_S)
    await producer.send([(b"k", b"b")])
    with pytest.raises(KafkaError, match="topic orders has no partition 3"):
        await producer.send_to(3, [(None, b"c", ())])
    cluster.is_hidden = False
    await trio.sleep(LOOKUP_TIMEOUT_S)
    await producer.send_to(3, [(None, b"c", ())])
    await trio.sleep(METADATA_MAX_AGE_S)
    cluster.partitions = 2  # in the metadata of a broker that is behind
    await producer.send([(b"k", b"d")])
    assert {producer.choose(b"%d" % number) for number in range(100)} == {0, 1, 2, 3}
    assert producer.stored == 4


async def test_a_partition_that_does_not_exist() -> None:
    async with relayed_node() as (_, bootstrap), open_cluster(bootstrap) as cluster:
        with pytest.raises(KafkaError, match="topic orders has no partition 7"):
            await Producer(cluster, TOPIC, partition=7).start()


@pytest.mark.parametrize(
    ("acks", "is_killed"), [(ALL_REPLICAS, False), (ALL_REPLICAS, True), (1, False), (NO_ACKNOWLEDGEMENT, True)]
)
async def test_a_leader_that_goes_is_succeeded(tmp_path: Path, acks: int, is_killed: bool) -> None:
    """The only bootstrap server stops: the client continues with the nodes of the metadata. With acks=0 no response
    shows what the stopped leader stored.
    """
    async with cluster_in(tmp_path, QUICK_LEASES) as brokers:
        leader = await lead_a_topic(brokers)
        async with open_cluster(f"127.0.0.1:{brokers.members[leader].port}") as cluster:
            producer = Producer(cluster, TOPIC, acks=acks)
            await producer.start()
            await producer.send([(None, b"before")])
            await (brokers.members[leader].kill() if is_killed else brokers.members[leader].stop())
            await producer.send([(None, b"after")])
            assert (producer.stored, producer.uncertain) == (2, 0)
            if acks == ALL_REPLICAS:
                assert await values(cluster, 2) == [b"before", b"after"]


async def test_without_acknowledgements_the_producer_follows_a_leader_that_stays(tmp_path: Path) -> None:
    """A broker that leads no more closes the connection (``KafkaApis.handleProduceRequest``), and the Java client then
    asks for metadata (``DefaultMetadataUpdater.handleServerDisconnect``).
    """
    async with cluster_in(tmp_path, QUICK_LEASES) as brokers:
        leader = await lead_a_topic(brokers)
        async with open_cluster(servers_of(brokers)) as cluster:
            producer = Producer(cluster, TOPIC, acks=NO_ACKNOWLEDGEMENT)
            await producer.start()
            await producer.send([(None, b"before")])
            await move_leader(cluster, leader)

            async def is_stored() -> bool:
                await producer.send([(None, b"after")])
                return (await cluster.offsets(TOPIC, {0: LATEST_TIMESTAMP}))[0] > 1

            await eventually_async(is_stored)


async def move_leader(cluster: Cluster, leader: int) -> None:
    """Make the next replica the preferred leader of partition 0 of the topic, and elect it."""
    replicas = [each for each in await cluster.brokers() if each != leader] + [leader]
    wanted = ReassignableTopic(TOPIC, [ReassignablePartition(0, replicas)])
    moved = await cluster.request(AlterPartitionReassignmentsRequest(topics=[wanted]))
    assert not moved.responses[0].partitions[0].error_code
    elected = await cluster.request(ElectLeadersRequest(topic_partitions=[TopicPartitions(TOPIC, [0])]))
    assert not elected.replica_election_results[0].partition_result[0].error_code

    async def is_led_by_another() -> bool:
        return (await cluster.leaders(TOPIC)).get(0, leader) != leader

    await eventually_async(is_led_by_another)


@given(st.binary(max_size=100))
def test_keys_are_placed_as_the_java_client_does(key: bytes) -> None:
    """kafka-python's murmur2 is the oracle."""
    assert murmur2(key) == kafka_python.murmur2(key) & 0xFFFFFFFF
