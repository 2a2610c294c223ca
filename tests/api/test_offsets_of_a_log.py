"""OffsetForLeaderEpoch, DeleteRecords and DescribeProducers: what else is asked of single partitions."""

from __future__ import annotations

import pytest

from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_records_response import DeleteRecordsPartitionResult
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kraft.messages.offset_for_leader_epoch_response import EpochEndOffset
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.talk import EARLIEST, batch, create, fetch, list_offset, produce, values


async def _end_of(
    broker: Connection, topic: str, epoch: int, version: int = 4, current: int = -1, partition: int = 0
) -> EpochEndOffset:
    wanted = OffsetForLeaderPartition(partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, [wanted])])
    answer: EpochEndOffset = (await broker.request(request, version)).topics[0].partitions[0]
    return answer


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_the_end_of_an_epoch(broker: Connection, topic: str, version: int) -> None:
    """KIP-320: the epoch of now ends at the end of the log; one that nobody has seen is (-1, -1)."""
    await produce(broker, topic, batch(b"a", b"b"))
    now = await _end_of(broker, topic, 0, version)
    assert (now.error_code, now.leader_epoch, now.end_offset) == (0, 0, 2)
    later = await _end_of(broker, topic, 3, version)
    assert (later.error_code, later.leader_epoch, later.end_offset) == (0, -1, -1)


async def test_epochs_are_refused_as_by_fetch(broker: Connection, topic: str) -> None:
    assert (await _end_of(broker, topic, 0, current=9)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await _end_of(broker, topic, 0, partition=5)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await _end_of(broker, topic, -1)).end_offset == -1


async def _delete(
    broker: Connection, topic: str, offset: int, partition: int = 0, version: int = 2
) -> DeleteRecordsPartitionResult:
    topics = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])]
    response = await broker.request(DeleteRecordsRequest(topics=topics, timeout_ms=1000), version)
    answer: DeleteRecordsPartitionResult = response.topics[0].partitions[0]
    return answer


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_delete_records_moves_the_start(broker: Connection, topic: str, version: int) -> None:
    """KIP-107."""
    for value in (b"a", b"b", b"c"):
        await produce(broker, topic, batch(value))
    answer = await _delete(broker, topic, 2, version=version)
    assert (answer.error_code, answer.low_watermark) == (0, 2)
    assert (await fetch(broker, topic, 0)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert await values(broker, topic, 2) == [b"c"]
    assert (await list_offset(broker, topic, EARLIEST)).offset == 2
    back = await _delete(broker, topic, 1)
    assert (back.error_code, back.low_watermark) == (0, 2), "the start never goes back"
    everything = await _delete(broker, topic, -1)
    assert (everything.error_code, everything.low_watermark) == (0, 3)
    assert await values(broker, topic, 3) == []


async def test_delete_records_refuses(broker: Connection, topic: str, new_name: str) -> None:
    assert (await _delete(broker, topic, 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await _delete(broker, topic, -2)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await _delete(broker, topic, 0, partition=4)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await _delete(broker, "__consumer_offsets", 0)).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    await create(broker, f"{new_name}-compacted", configs={"cleanup.policy": "compact"})
    refused = await _delete(broker, f"{new_name}-compacted", 0)
    assert (refused.error_code, refused.low_watermark) == (ErrorCode.POLICY_VIOLATION, -1)


async def test_describe_producers(broker: Connection, topic: str) -> None:
    """KIP-664."""
    await produce(broker, topic, batch(b"a", b"b", producer_id=77, producer_epoch=3, base_sequence=0))
    request = DescribeProducersRequest(topics=[TopicRequest(topic, [0, 4])])
    known, unknown = (await broker.request(request, 0)).topics[0].partitions
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 3, 1)
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)
    assert producer.last_timestamp > 1_600_000_000_000
    assert (unknown.error_code, unknown.active_producers) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
