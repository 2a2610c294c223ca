"""DescribeQuorum: the replicas in the leader's state (KIP-595, KIP-836, KIP-853)."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.quorum.description import Directories
from kraft.quorum.outbound_requests import request_message
from kraft.raft.leader import MAX_OBSERVERS
from kraft.raft.messages import FetchRequest
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.api.serving import VOTER_2, Serving
from tests.support.nodes import connected
from tests.support.quorums import identity


def about(topic: str = "__cluster_metadata", partition: int = 0) -> DescribeQuorumRequest:
    return DescribeQuorumRequest([TopicData(topic, [PartitionData(partition)])])


async def fetch_as_observer(served: Serving) -> None:
    """Replica 9 fetches from the log's end."""
    quorum = served.plane.quorum
    asked = FetchRequest(quorum.epoch, 9, quorum.end_offset, quorum.epoch, 0.0)
    outbound = request_message(asked, identity(9, VOTER_2), 1, served.connection.versions)
    await served.ask(outbound.message, outbound.version)


@pytest.mark.parametrize("version", range(3))
async def test_the_leader_returns_the_progress_of_each_replica(active: Serving, version: int) -> None:
    """KIP-836: LastFetchTimestamp and LastCaughtUpTimestamp are the leader's wall clock; for itself, now."""
    quorum, clock = active.plane.quorum, active.plane.clock
    before_ms = clock.now_ms()
    await fetch_as_observer(active)
    answer = await active.ask(about(), version)
    after_ms = clock.now_ms()
    [partition] = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code) == (0, 0)
    assert (partition.leader_id, partition.leader_epoch) == (1, quorum.epoch)
    assert partition.high_watermark == quorum.high_watermark
    [voter], [observer] = partition.current_voters, partition.observers
    assert (voter.replica_id, voter.log_end_offset) == (1, quorum.end_offset)
    assert (observer.replica_id, observer.log_end_offset) == (9, quorum.end_offset)
    if version == 0:
        return
    for replica in (voter, observer):
        assert before_ms - 1 <= replica.last_fetch_timestamp <= after_ms
        assert before_ms - 1 <= replica.last_caught_up_timestamp <= after_ms


async def test_version_2_has_the_directories_of_observers(active: Serving) -> None:
    """KIP-853: ReplicaDirectoryId, which the observer's Fetch has from version 17 on."""
    await fetch_as_observer(active)
    answer = await active.ask(about(), 2)
    [observer] = answer.topics[0].partitions[0].observers
    assert observer.replica_directory_id == identity(9, VOTER_2).directory_id != ZERO_UUID


def test_of_more_replicas_than_there_may_be_the_last_to_fetch_are_remembered() -> None:
    directories = Directories()
    directories.note(0, UUID(int=7))
    for replica in range(1, MAX_OBSERVERS + 1):
        directories.note(replica, UUID(int=replica + 100))
        if replica == 1:
            directories.note(0, UUID(int=8))
    assert (directories.of(0), directories.of(1)) == (UUID(int=8), ZERO_UUID)


async def test_version_2_has_the_endpoints_of_the_voters(active: Serving) -> None:
    """KIP-853: nodes with their listeners; static voters are known by their ids alone."""
    answer = await active.ask(about(), 2)
    [node] = answer.nodes
    assert [(node.node_id, each.name, each.host, each.port) for each in node.listeners] == [
        (1, "CONTROLLER", "127.0.0.1", 1)
    ]
    [voter] = answer.topics[0].partitions[0].current_voters
    assert voter.replica_directory_id == ZERO_UUID


async def test_a_follower_answers_that_it_does_not_lead(standby: Serving) -> None:
    answer = await standby.ask(about())
    [partition] = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code) == (0, ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize("wrong", [about("orders"), about(partition=1)], ids=["topic", "partition"])
async def test_other_partitions_have_no_quorum(active: Serving, wrong: DescribeQuorumRequest) -> None:
    answer = await active.ask(wrong)
    [topic] = answer.topics
    assert topic.topic_name == wrong.topics[0].topic_name
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_broker_passes_the_question_on() -> None:
    async with embedded_node() as node, connected(node) as broker:
        answer = await broker.request(about())
    [partition] = answer.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (0, 1)
    assert [voter.replica_id for voter in partition.current_voters] == [1]
