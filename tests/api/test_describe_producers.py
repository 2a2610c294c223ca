"""DescribeProducers: the active producers of a partition (KIP-664)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from kraft.api.describe_producers import at_broker
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.describe_producers_response import DescribeProducersResponse
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.held import TOPIC, broker_in, registration, serving
from tests.support.held import topic as leaders_topic
from tests.support.talk import batch, produce


async def test_describe_producers(broker: Connection, topic: str) -> None:
    """KIP-664. The time is that of the records, not that of the append (``ProducerAppendInfo.appendDataBatch``)."""
    timestamp = 1_600_000_000_000
    sent = batch(b"a", b"b", timestamp=timestamp, producer_id=77, producer_epoch=3, base_sequence=0)
    await produce(broker, topic, sent)
    request = DescribeProducersRequest(topics=[TopicRequest(topic, [0, 4])])
    known, unknown = (await broker.request(request, 0)).topics[0].partitions
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 3, 1)
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)
    assert producer.last_timestamp == timestamp
    assert (unknown.error_code, unknown.active_producers) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])


async def test_a_follower_describes_its_replica(tmp_path: Path) -> None:
    """``Partition.activeProducerState`` takes the local log. A broker without a replica is NOT_LEADER_OR_FOLLOWER."""
    codes = []
    for node_id in (1, 3):
        (tmp_path / str(node_id)).mkdir()
        each = broker_in(tmp_path / str(node_id), node_id)
        await each.replicas.registered(5)
        await each.hear(registration(1, 5), registration(2, 6), registration(3, 5), *leaders_topic(1, 2, leader=2))
        request = DescribeProducersRequest(topics=[TopicRequest(TOPIC, [0])])
        answer = await at_broker(serving(each.replicas), cast(Any, None), request)
        assert isinstance(answer, DescribeProducersResponse)
        codes.append(answer.topics[0].partitions[0].error_code)
    assert codes == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_a_partition_that_is_named_again_is_described_once(broker: Connection, topic: str) -> None:
    """A partition may have thousands of producers, and its name costs four bytes."""
    await produce(broker, topic, batch(b"a", producer_id=77, producer_epoch=3, base_sequence=0))
    request = DescribeProducersRequest(topics=[TopicRequest(topic, [0] * 1000), TopicRequest(topic, [0, 1])])
    (found,) = (await broker.request(request, 0)).topics
    assert [each.partition_index for each in found.partitions] == [0, 1]
    assert len(found.partitions[0].active_producers) == 1


async def test_a_topic_without_partitions_is_in_the_response(broker: Connection, topic: str) -> None:
    """As in Kafka's DescribeProducers, which answers each topic of the request."""
    response = await broker.request(DescribeProducersRequest(topics=[TopicRequest("none"), TopicRequest(topic)]), 0)
    assert [(each.name, each.partitions) for each in response.topics] == [("none", []), (topic, [])]
