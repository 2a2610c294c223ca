"""The leader of a partition that is led elsewhere, and its address (KIP-951)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraft.api import fetch, produce
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import NodeEndpoint as FetchEndpoint
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import NodeEndpoint as ProduceEndpoint
from kraft.messages.register_broker_record import BrokerEndpoint
from kraft.rpc.channel import ConnectionInfo, Request, response_of
from kraft.wire.errors import ErrorCode
from tests.support.held import TOPIC, TOPIC_ID, Broker, broker_in, registration, serving, topic
from tests.support.talk import batch

INFO = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


async def follower_in(path: Path, *, fenced: bool = False) -> Broker:
    """Broker 1, which follows both partitions of TOPIC. Broker 2 leads them, in leader epoch 0."""
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    leader = registration(2, 6, 9092, fenced=fenced)
    leader.rack = "r2"
    leader.end_points.append(BrokerEndpoint(name="OTHER", host="127.0.0.1", port=9094))
    await broker.hear(registration(1, 5), leader, *topic(1, 2, leader=2, partitions=2))
    return broker


async def produced(broker: Broker, version: int) -> Any:
    sent = [PartitionProduceData(index, batch(b"a")) for index in range(2)]
    message = ProduceRequest(acks=1, topic_data=[TopicProduceData(TOPIC, TOPIC_ID, sent)])
    request = Request(0, version, 0, "test", b"", 0, INFO)
    return await response_of(await produce.at_broker(serving(broker.replicas), request, message))


async def fetched(broker: Broker, version: int, epoch: int = -1) -> Any:
    wanted = [FetchPartition(index, current_leader_epoch=epoch, replica_directory_id=TOPIC_ID) for index in range(2)]
    message = FetchRequest(max_wait_ms=0, topics=[FetchTopic(TOPIC, TOPIC_ID, wanted)], max_bytes=1000)
    message.replica_id = message.replica_state.replica_id = 3  # a follower that does not know the new leader yet
    request = Request(1, version, 0, "test", b"", 0, INFO)
    return await response_of(await fetch.at_broker(serving(broker.replicas), request, message))


@pytest.mark.parametrize(("version", "is_named"), [(9, False), (10, True), (13, True)])
async def test_a_producer_learns_the_address_of_the_leader(tmp_path: Path, version: int, is_named: bool) -> None:
    """``KafkaApis.handleProduceRequest``: from version 10 on, once for all partitions."""
    response = await produced(await follower_in(tmp_path), version)
    answers = response.responses[0].partition_responses
    assert [each.error_code for each in answers] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    assert [each.current_leader.leader_id for each in answers] == [2 if is_named else -1] * 2
    assert response.node_endpoints == ([ProduceEndpoint(2, "127.0.0.1", 9092, "r2")] if is_named else [])


@pytest.mark.parametrize(("version", "is_named"), [(12, False), (15, False), (16, True), (18, True)])
async def test_a_reader_learns_the_address_of_the_leader(tmp_path: Path, version: int, is_named: bool) -> None:
    """``KafkaApis.handleFetchRequest``: from version 16 on. A fenced epoch names it, too."""
    broker = await follower_in(tmp_path)
    expected = [FetchEndpoint(2, "127.0.0.1", 9092, "r2")] if is_named else []
    response = await fetched(broker, version)
    answers = response.responses[0].partitions
    assert [each.error_code for each in answers] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    assert [each.current_leader.leader_id for each in answers] == [2 if is_named else -1] * 2
    assert response.node_endpoints == expected
    for index in range(2):
        await broker.hear(PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, leader=1))
    response = await fetched(broker, version, epoch=0)
    answers = response.responses[0].partitions
    assert [each.error_code for each in answers] == [ErrorCode.FENCED_LEADER_EPOCH] * 2
    assert [each.current_leader.leader_id for each in answers] == [1 if is_named else -1] * 2
    assert [each.node_id for each in response.node_endpoints] == ([1] if is_named else [])


async def test_a_leader_that_is_fenced_has_no_address(tmp_path: Path) -> None:
    """``MetadataCache.getAliveBrokerNode``."""
    broker = await follower_in(tmp_path, fenced=True)
    for response in (await produced(broker, 10), await fetched(broker, 16)):
        assert response.node_endpoints == []
