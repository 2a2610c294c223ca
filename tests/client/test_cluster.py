"""The connections of a client to a cluster: the first one, while no server accepts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from kraft.client import cluster
from kraft.client.cluster import LATEST_TIMESTAMP, TIMEOUT_S, Cluster, open_cluster
from kraft.client.consumer import Consumer
from kraft.client.fetching import PartitionFetcher
from kraft.client.offsets import committed_offsets
from kraft.client.producer import NO_ACKNOWLEDGEMENT, Producer
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.fetch_request import FetchRequest
from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.find_coordinator_response import FindCoordinatorResponse
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kraft.messages.offset_fetch_response import OffsetFetchResponse
from kraft.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kraft.messages.registry import ApiKey
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from kraft.world.dial import dial_by_tcp
from kraft.world.transport import Transport
from tests.client.talk import TOPIC, batch, log, relayed_node, values
from tests.support.eventually import until


async def test_a_cluster_that_comes_back_in_time_is_waited_for(kraft_cluster: EmbeddedCluster) -> None:
    """Spark's guide on ``kafkaConsumer.pollTimeoutMs``: executors wait for data that long, not for nothing."""
    refusals = 3

    async def dial(host: str, port: int) -> Transport:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise ConnectionRefusedError(111, "Connection refused")
        return await dial_by_tcp(host, port)

    async with open_cluster(kraft_cluster.bootstrap_servers, retry_timeout_s=60.0, dial=dial) as cluster:
        assert (await cluster.metadata([])).brokers
    assert refusals == 0


async def test_a_cluster_that_does_not_come_back_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    async def dial(host: str, port: int) -> Transport:
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(ClusterUnreachable):
        async with open_cluster("127.0.0.1:9", dial=dial):
            pass
    began = trio.current_time()
    with pytest.raises(GaveUp, match=r"connection to the cluster: gave up after 30 seconds: .*Connection refused"):
        async with open_cluster("127.0.0.1:9", retry_timeout_s=30.0, dial=dial):
            pass
    assert trio.current_time() - began == pytest.approx(30)


@attrs.define
class Stub:
    """A connection to a broker that knows every topic, or that has hung since it was connected."""

    has_hung: bool
    closed: bool = False
    is_abandoned: bool = False
    versions: Mapping[int, tuple[int, int]] = attrs.Factory(lambda: {ApiKey.METADATA: (0, 12)})

    def close(self) -> None:
        self.closed = True

    def highest_common_version(self, message: object) -> int:
        return 3

    async def request(self, message: object, version: int, timeout_s: float = 30.0) -> object:
        if self.has_hung:
            self.closed = True  # as a connection that timed out
            with trio.fail_after(timeout_s):
                await trio.sleep_forever()
        if isinstance(message, FindCoordinatorRequest):
            return FindCoordinatorResponse(node_id=2, host="b", port=1)
        if isinstance(message, MetadataRequest):
            return MetadataResponse(topics=[MetadataResponseTopic(name="t")])
        return FindCoordinatorResponse(error_code=0)


async def test_another_broker_is_asked_if_the_first_one_hangs(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``default.api.timeout.ms`` is longer than ``request.timeout.ms`` in Kafka's clients, for this reason."""
    made: list[str] = []

    async def connect(host: str, *_: object, **__: object) -> Stub:
        if made.count("a") > 0 and host == "a":
            await trio.sleep_forever()
        made.append(host)
        return Stub(has_hung=host == "a")

    monkeypatch.setattr(cluster, "open_connection", connect)
    for look_up in (
        lambda opened: opened.topic("t"),
        lambda opened: opened.ask_coordinator("g", DescribeClusterRequest(), lambda _: 0),
    ):
        made.clear()
        async with open_cluster("a:1,b:1") as opened:
            assert made == ["a"]
            await look_up(opened)
            assert made == ["a", "b"]


async def test_a_connection_that_the_broker_closed_is_not_used_again() -> None:
    """Kafka closes idle connections (``connections.max.idle.ms``). ``Producer``: with acks=0 "``stored`` counts the
    records that were sent"; a record on a closed connection is lost.
    """
    dialled: list[Transport] = []

    async def dial(host: str, port: int) -> Transport:
        dialled.append(await dial_by_tcp(host, port))
        return dialled[-1]

    async with relayed_node() as (relay, bootstrap), open_cluster(bootstrap, dial=dial) as opened:

        async def close_connections() -> None:
            relay.close_connections()
            await until(lambda: all(each.is_abandoned() for each in dialled))
            dialled.clear()

        producer = Producer(opened, TOPIC, acks=NO_ACKNOWLEDGEMENT)
        await producer.start()
        for count, value in enumerate((b"a", b"b"), 1):
            await close_connections()
            await producer.send([(None, value)])
            with trio.fail_after(TIMEOUT_S):
                async with open_cluster(bootstrap) as other:
                    assert await values(other, count) == [b"a", b"b"][:count]
        assert producer.stored == 2
        await close_connections()
        assert len(await opened.brokers()) == 1


@attrs.frozen
class Member:
    """A connection to a broker of three. Broker 3 leads and coordinates everything.

    Broker 1 has metadata from before: it names broker 2 for partition 0 and for the group.
    """

    node_id: int
    closed: bool = False
    is_abandoned: bool = False

    def close(self) -> None:
        """Nothing is held."""

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        return {ApiKey.METADATA: (0, 12)}

    def highest_common_version(self, message: Message) -> int:
        return message.VALID_VERSIONS[1]

    async def request(self, message: Any, version: int, timeout_s: float = 30.0) -> object:
        named = 2 if self.node_id == 1 else 3
        refused = ErrorCode.NONE if self.node_id == 3 else ErrorCode.NOT_LEADER_OR_FOLLOWER
        match ApiKey(message.API_KEY):
            case ApiKey.METADATA:
                leaders = enumerate((named, 3))
                partitions = [MetadataResponsePartition(partition_index=at, leader_id=leader) for at, leader in leaders]
                return MetadataResponse(
                    brokers=[MetadataResponseBroker(node_id, f"{node_id}", 1) for node_id in (1, 2, 3)],
                    topics=[MetadataResponseTopic(name=TOPIC, partitions=partitions)],
                )
            case ApiKey.FIND_COORDINATOR:
                return FindCoordinatorResponse(node_id=named, host=f"{named}", port=1)
            case ApiKey.PRODUCE:
                stored = PartitionProduceResponse(index=0, error_code=refused)
                return ProduceResponse([TopicProduceResponse(TOPIC, partition_responses=[stored])])
            case ApiKey.LIST_OFFSETS:
                listed = ListOffsetsPartitionResponse(partition_index=0, error_code=refused, offset=7)
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[listed])])
            case ApiKey.FETCH:
                return self._fetched(message, refused)
        return OffsetFetchResponse(error_code=ErrorCode.NOT_COORDINATOR if refused else ErrorCode.NONE)

    def _fetched(self, message: FetchRequest, refused: ErrorCode) -> FetchResponse:
        """Return a new record of each partition."""
        asked = message.topics[0].partitions
        logs = [log(each.partition, batch(each.fetch_offset, 1), error=refused) for each in asked]
        return FetchResponse(responses=[FetchableTopicResponse(TOPIC, partitions=logs)])


async def _produce(opened: Cluster) -> None:
    producer = Producer(opened, TOPIC, acks=1, delivery_timeout_s=15.0)
    await producer.start()
    await producer.send_to(0, [(None, b"value", ())])


async def _fetch(opened: Cluster) -> None:
    assert (await PartitionFetcher(opened, TOPIC, 0, 0, retry_timeout_s=15.0).next(0)).batches


async def _consume(opened: Cluster) -> None:
    consumer = Consumer(opened, TOPIC, retry_timeout_s=15.0)
    await consumer.start(0, partitions=[0])
    assert await consumer.poll(0)


async def _consume_beside_another_partition(opened: Cluster) -> None:
    """A response with records of one partition does not hide that another one has no records and a failure."""
    consumer = Consumer(opened, TOPIC)
    await consumer.start(0)
    for _ in range(3):
        found = await consumer.poll(0)
    assert {each.partition for each in found} == {0, 1}


async def _list(opened: Cluster) -> None:
    assert await opened.offsets(TOPIC, {0: LATEST_TIMESTAMP}) == {0: 7}


async def _fetch_offsets(opened: Cluster) -> None:
    assert await committed_offsets(opened, "group") == {}


@pytest.mark.parametrize(
    "operate", [_produce, _fetch, _consume, _consume_beside_another_partition, _list, _fetch_offsets]
)
async def test_another_broker_is_asked_if_the_first_one_has_old_metadata(
    autojump_clock: trio.testing.MockClock,
    monkeypatch: pytest.MonkeyPatch,
    operate: Callable[[Cluster], Awaitable[None]],
) -> None:
    """``NetworkClient.leastLoadedNode``: Kafka's clients get each update of the metadata from any broker."""

    async def connect(host: str, *_: object, **__: object) -> Member:
        return Member(int(host))

    monkeypatch.setattr(cluster, "open_connection", connect)
    async with open_cluster("1:1,2:1") as opened:
        await operate(opened)
    assert trio.current_time() < 1.0
