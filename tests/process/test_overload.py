"""Large but honest requests at the active controller's node leave the quorum and the brokers' leases alone.

Three combined nodes as processes. A client asks the node that leads the quorum for work that takes its data plane
seconds. KIP-291: requests of the control plane must not wait for those of clients.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest
from kraft.rpc.client import Connection, connect
from tests.support.cluster import BOTH, Cluster, Member, running_cluster
from tests.support.quorum_view import wait_for_leader
from tests.support.talk import batch, produce

PARTITIONS = 40
RECORDS = 60_000
TIMEOUT_S = 240.0


@contextlib.asynccontextmanager
async def client_of(cluster: Cluster, node_id: int) -> AsyncIterator[Connection]:
    async with connect("127.0.0.1", cluster.nodes[node_id].ports[0], client_id="honest") as connection:
        yield connection


async def create_on(node: Connection, leader: int, name: str, partitions: int) -> None:
    """Create a topic whose partitions all lie on one node."""
    assignments = [CreatableReplicaAssignment(index, [leader]) for index in range(partitions)]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
    response = await node.request(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), timeout_s=TIMEOUT_S)
    assert response.topics[0].error_code == 0, response.topics[0]


async def look_up_times(node: Connection, leader: int) -> None:
    """ListOffsets by time: one look-up in a batch of many records for each partition."""
    await create_on(node, leader, "times", PARTITIONS)
    records = batch(*[b""] * RECORDS, timestamp=1000)
    for partition in range(PARTITIONS):
        assert (await produce(node, "times", records, acks=1, partition=partition)).error_code == 0
    asked = [ListOffsetsPartition(index, timestamp=1000) for index in range(PARTITIONS)]
    response = await node.request(ListOffsetsRequest(topics=[ListOffsetsTopic("times", asked)]), timeout_s=TIMEOUT_S)
    assert [each.offset for each in response.topics[0].partitions] == [0] * PARTITIONS


async def create_and_list_partitions(node: Connection, leader: int) -> None:
    """CreateTopics of thousands of partitions, and Metadata of all of them over several connections."""
    await create_on(node, leader, "wide", 3000)
    for _ in range(10):
        response = await node.request(MetadataRequest(topics=None), timeout_s=TIMEOUT_S)
        assert sum(len(topic.partitions) for topic in response.topics) >= 3000


LOADS = {"ListOffsets by time": look_up_times, "CreateTopics and Metadata": create_and_list_partitions}


@pytest.mark.parametrize("load", LOADS)
async def test_a_heavy_request_at_the_leaders_node_deposes_and_fences_nobody(load: str, tmp_path: Path) -> None:
    """KIP-595's fetch timeout (2 s) and the brokers' session (9 s) are Kafka's. A node whose event loop belongs to one
    request for longer would lose its leadership, and its lease after that.
    """
    with running_cluster(tmp_path, {node_id: Member(roles=BOTH) for node_id in (1, 2, 3)}) as cluster:
        before = wait_for_leader(cluster)
        async with client_of(cluster, before.leader_id) as node:
            await LOADS[load](node, before.leader_id)
        after = wait_for_leader(cluster)
        lines = [line for node in cluster.nodes.values() for line in node.output if "this broker is fenced" in line]
    assert (after.leader_id, after.epoch, lines) == (before.leader_id, before.epoch, [])
