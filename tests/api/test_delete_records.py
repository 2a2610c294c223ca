"""DeleteRecords: the start of a log moves up (KIP-107)."""

from __future__ import annotations

import pytest
import trio

from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_records_response import DeleteRecordsPartitionResult
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.nodes import connected
from tests.support.talk import EARLIEST, batch, create, fetch, list_offset, produce, values


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


async def test_the_last_offset_of_a_partition_counts(broker: Connection, topic: str) -> None:
    """``KafkaApis.handleDeleteRecordsRequest`` has a map of the partitions."""
    for value in (b"a", b"b", b"c"):
        await produce(broker, topic, batch(value))
    once, again = DeleteRecordsPartition(0, 3), DeleteRecordsPartition(0, 1)
    topics = [DeleteRecordsTopic(topic, [once]), DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 2), again])]
    response = await broker.request(DeleteRecordsRequest(topics=topics, timeout_ms=1000))
    (found,) = response.topics
    assert found.partitions == [DeleteRecordsPartitionResult(0, 1, 0)]
    assert await values(broker, topic, 1) == [b"b", b"c"]


async def test_delete_records_refuses(broker: Connection, topic: str, new_name: str) -> None:
    assert (await _delete(broker, topic, 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await _delete(broker, topic, -2)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await _delete(broker, topic, 0, partition=4)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    internal = CreatableTopic(name="__consumer_offsets", num_partitions=1, replication_factor=1)
    await broker.request(CreateTopicsRequest(topics=[internal]))  # or it exists
    assert (await _delete(broker, "__consumer_offsets", 0)).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    unknown = await _delete(broker, "__consumer_offsets", 0, partition=9999)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await create(broker, f"{new_name}-compacted", configs={"cleanup.policy": "compact"})
    refused = await _delete(broker, f"{new_name}-compacted", 0)
    assert (refused.error_code, refused.low_watermark) == (ErrorCode.POLICY_VIOLATION, -1)


@pytest.mark.parametrize("policy", ["", "compact,delete"])
async def test_only_a_topic_that_is_compacted_alone_keeps_its_records(
    broker: Connection, new_name: str, policy: str
) -> None:
    """Kafka raises PolicyViolationException only if the policy has compact and not delete. It may be empty."""
    await create(broker, new_name, configs={"cleanup.policy": policy})
    await produce(broker, new_name, batch(b"a", key=b"k"))
    answer = await _delete(broker, new_name, 1)
    assert (answer.error_code, answer.low_watermark) == (0, 1)


class ConnectionSteps(trio.abc.Instrument):
    """Counts the steps of a node's connections."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name.startswith("connection ")


async def test_a_request_for_many_partitions_lets_other_tasks_run() -> None:
    """The connection waits for each partition's replicas, which takes no time if there is only one: 100,000 of them in
    one step took 0.7 s.
    """
    async with embedded_node() as node, connected(node) as broker:
        await create(broker, "topic", 600)
        partitions = [DeleteRecordsPartition(index, 0) for index in range(600)]
        request = DeleteRecordsRequest([DeleteRecordsTopic("topic", partitions)], timeout_ms=10_000)
        steps = ConnectionSteps()
        trio.lowlevel.add_instrument(steps)
        response = await broker.request(request)
        trio.lowlevel.remove_instrument(steps)
    assert [each.error_code for each in response.topics[0].partitions] == [ErrorCode.NONE] * 600
    assert steps.count >= 14
