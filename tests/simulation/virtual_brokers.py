"""Combined nodes in virtual time, and clients of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import attrs
import trio

from kraft.client.cluster import TIMEOUT_S, Cluster, check, open_cluster
from kraft.client.retry import retried
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.node.node import Node
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.simulation.virtual_cluster import CLIENT_PORT, FREE, Costs, VirtualNode, virtual_nodes
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.wire.errors import ErrorCode, KafkaError

START_S = 20.0
TIMESTAMP_MS = 1_700_000_000_000


@attrs.frozen
class Brokers:
    """Combined nodes that run, by node id."""

    nodes: dict[int, VirtualNode]
    network: VirtualNetwork
    nursery: trio.Nursery

    def node(self, node_id: int) -> Node:
        node = self.nodes[node_id].node
        assert node is not None
        return node

    def client(self, name: str = "client") -> AbstractAsyncContextManager[Cluster]:
        """Open a client of the cluster, on a host of its own."""
        servers = ",".join(f"{node.host}:{CLIENT_PORT}" for node in self.nodes.values())
        return open_cluster(servers, name, dial=self.network.dial(name))


async def create_topic(client: Cluster, name: str, brokers: Sequence[int], **config: str) -> None:
    """Create a topic, and wait until a broker knows a leader of each partition.

    It has a partition for each of ``brokers``, which leads it; all of them have its replicas.
    """
    assignments = [
        CreatableReplicaAssignment(index, [leader, *(each for each in brokers if each != leader)])
        for index, leader in enumerate(brokers)
    ]
    configs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in config.items()]
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=configs
    )
    (created,) = (await client.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
    check(created.error_code, created.error_message)

    async def led() -> None:
        if len(await client.leaders(name)) < len(brokers):
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)

    await retried(led, f"topic {name}", TIMEOUT_S)


def batch_of(values: Sequence[bytes], codec: Compression = Compression.NONE) -> bytes:
    """Return a batch whose timestamps do not depend on the real clock."""
    records = [
        Record(offset, TIMESTAMP_MS + offset, b"%d" % (offset % 100), each) for offset, each in enumerate(values)
    ]
    return encode_batch(records, compression=codec)


async def produce(client: Cluster, topic: str, partition: int, batch: bytes) -> None:
    """Append a batch to all replicas of a partition."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(partition, batch)])

    async def attempt() -> None:
        leader = (await client.leaders(topic))[partition]
        response = await client.request(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), leader)
        check(response.responses[0].partition_responses[0].error_code)

    await retried(attempt, f"{topic}-{partition}", TIMEOUT_S)


@asynccontextmanager
async def brokers(directory: Path, seed: int, count: int = 3, costs: Costs = FREE) -> AsyncIterator[Brokers]:
    """Run combined nodes, which are registered and unfenced when the block begins."""
    network = VirtualNetwork(seed)
    settings = {
        "metadata.max.idle.interval.ms": "0",
        # A lost heartbeat fences a broker within seconds.
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": "3000",
    }
    async with trio.open_nursery() as nursery:
        cluster = Brokers(
            virtual_nodes(directory, count, network, settings, combined=True, costs=costs), network, nursery
        )
        with trio.fail_after(START_S):
            async with trio.open_nursery() as starting:
                for node in cluster.nodes.values():
                    starting.start_soon(start, nursery, node, name=f"start of {node.host}")
        yield cluster
        nursery.cancel_scope.cancel(reason="the test is over")


async def start(nursery: trio.Nursery, node: VirtualNode) -> None:
    await nursery.start(node.run, name=node.host)
