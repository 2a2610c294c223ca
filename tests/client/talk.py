"""Clusters for the tests of the client: one whose responses get lost, one whose leader may go, one made of answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import trio

from kraft.client.cluster import EARLIEST_TIMESTAMP, Cluster, open_cluster
from kraft.client.consumer import Consumer
from kraft.client.retry import ClusterUnreachable
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.fetch_request import FetchRequest
from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.list_offsets_request import ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.metadata_response import MetadataResponsePartition as Partition
from kraft.messages.metadata_response import MetadataResponseTopic
from kraft.messages.registry import ApiKey
from kraft.records.record import Record, encode_batch
from kraft.testing.embedded import EmbeddedNode, embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.eventually import eventually_async
from tests.support.node_process import free_ports
from tests.support.trio_cluster import TrioCluster

TOPIC = "orders"


@attrs.define(eq=False)
class Relay:
    """Passes one request and its response after the other. Closes the connection instead of a lost response."""

    port: int
    loses: dict[ApiKey, int] = attrs.Factory(dict)
    """The number of responses of an API that the connection will lose."""
    _serving: list[trio.CancelScope] = attrs.field(factory=list, init=False)

    def close_connections(self) -> None:
        """Close all connections, as a broker closes those that are idle."""
        for scope in self._serving:
            scope.cancel()

    async def serve(self, client: trio.SocketStream) -> None:
        with trio.CancelScope() as scope:
            self._serving.append(scope)
            await self._serve(client)

    async def _serve(self, client: trio.SocketStream) -> None:
        async with client, await trio.open_tcp_stream("127.0.0.1", self.port) as broker:
            while (request := await _frame(client)) is not None:
                await broker.send_all(request)
                response = await _frame(broker)
                key = ApiKey(int.from_bytes(request[4:6], "big"))
                if response is None or self.loses.get(key, 0) > 0:
                    self.loses[key] = self.loses.get(key, 0) - 1
                    return
                await client.send_all(response)


async def _frame(stream: trio.SocketStream) -> bytes | None:
    """The next frame with its length; None at the end of the stream."""
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        try:
            more = await stream.receive_some(65_536)
        except trio.BrokenResourceError:
            return None
        if not more:
            return None
        data += more
    return data


@asynccontextmanager
async def relayed_node() -> AsyncIterator[tuple[Relay, str]]:
    """A node that all clients reach through a relay, with a topic of one partition; and its bootstrap servers."""
    behind, port = free_ports(2)
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{behind},CONTROLLER://127.0.0.1:0",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    relay = Relay(behind)
    node: EmbeddedNode
    async with embedded_node({TOPIC: 1}, settings) as node, trio.open_nursery() as nursery:
        assert node.bootstrap_servers == f"127.0.0.1:{behind}"
        await nursery.start(trio.serve_tcp, relay.serve, port)
        yield relay, f"127.0.0.1:{port}"
        nursery.cancel_scope.cancel()


async def lead_a_topic(brokers: TrioCluster, partitions: int = 1) -> int:
    """Create the topic with a replica on every broker. Return the leader of its partition 0 once every broker has the
    leaders in its metadata.
    """
    wanted = CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=len(brokers.members))
    async with open_cluster(servers_of(brokers)) as cluster:
        await eventually_async(lambda: is_created(cluster, wanted))
    for member in brokers.members.values():
        async with open_cluster(f"127.0.0.1:{member.port}") as cluster:
            leader = await eventually_async(partial(leader_of, cluster, partitions))
    return leader


async def leader_of(cluster: Cluster, partitions: int) -> int:
    """The leader of the topic's partition 0; 0, which is no broker, as long as a partition has none."""
    (topic,) = (await cluster.metadata([TOPIC])).topics
    led = {each.partition_index: each.leader_id for each in topic.partitions if each.leader_id > 0}
    return led[0] if len(led) == partitions else 0


async def is_created(cluster: Cluster, wanted: CreatableTopic) -> bool:
    """Create the topic. False while too few brokers are unfenced: a short lease may end on a busy machine.

    A request that timed out may have created it.
    """
    response = await cluster.request(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
    code = ErrorCode(response.topics[0].error_code)
    if code in (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.REQUEST_TIMED_OUT):
        return False
    assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), code
    return True


def servers_of(brokers: TrioCluster) -> str:
    return ",".join(f"127.0.0.1:{member.port}" for member in brokers.members.values())


async def values(cluster: Cluster, count: int) -> list[bytes | None]:
    """The values of the topic: at least ``count``, and all that come with the last of them."""
    consumer = Consumer(cluster, TOPIC)
    await consumer.start(EARLIEST_TIMESTAMP)
    found: list[bytes | None] = []
    while len(found) < count:
        found += [record.value for _, record in await consumer.poll(1.0)]
    return found


@attrs.define
class FakeCluster(Cluster):
    """Partitions of node 1, whose answers a test writes; ``asked`` has the offsets of each fetch.

    ``led`` has the partitions of other nodes: of 13, which nobody reaches, or of -1, which is none. Metadata requests
    fail as long as ``is_hidden``.
    """

    logs: dict[int, PartitionData]
    led: dict[int, int] = attrs.Factory(dict)
    asked: list[dict[int, int]] = attrs.Factory(list)
    waits_ms: list[int] = attrs.Factory(list)
    is_hidden: bool = False
    lookups: int = 0

    async def topic(self, name: str, *, create: bool = False) -> MetadataResponseTopic:
        return MetadataResponseTopic(name=name, partitions=[Partition(partition_index=index) for index in self.logs])

    async def leaders(self, topic: str) -> dict[int, int]:
        self.lookups += 1
        if self.is_hidden:
            raise ClusterUnreachable("no broker has metadata")
        return {index: leader for index, leader in (dict.fromkeys(self.logs, 1) | self.led).items() if leader >= 0}

    def change_server(self) -> None:
        """There is only one."""

    async def request(self, message: Any, node_id: int | None = None) -> Any:
        if node_id == 13:
            raise ConnectionRefusedError("nobody listens")
        if isinstance(message, ListOffsetsRequest):
            starts = [
                ListOffsetsPartitionResponse(index, offset=max(0, self.logs[index].log_start_offset))
                for index in (each.partition_index for each in message.topics[0].partitions)
            ]
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(TOPIC, starts)])
        assert isinstance(message, FetchRequest)
        offsets = {each.partition: each.fetch_offset for each in message.topics[0].partitions}
        self.asked.append(offsets)
        self.waits_ms.append(message.max_wait_ms)
        if not any(self.logs[each].records or self.logs[each].error_code for each in offsets):
            await trio.sleep(message.max_wait_ms / 1000)
        return FetchResponse(
            responses=[FetchableTopicResponse(TOPIC, partitions=[self.logs[each] for each in offsets])]
        )


def log(index: int, *batches: bytes, error: ErrorCode = ErrorCode.NONE, start: int = 0) -> PartitionData:
    return PartitionData(partition_index=index, error_code=error, log_start_offset=start, records=b"".join(batches))


def batch(first: int, count: int, **fields: Any) -> bytes:
    records = [Record(offset, 0, None, b"%d" % offset) for offset in range(first, first + count)]
    return encode_batch(records, base_offset=first, **fields)
