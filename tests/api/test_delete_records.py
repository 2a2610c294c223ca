"""DeleteRecords: the start of a log moves up (KIP-107)."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
import trio

from kraft.api.delete_records import at_broker
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_records_response import DeleteRecordsPartitionResult, DeleteRecordsResponse
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import Parked
from kraft.rpc.client import Connection
from kraft.storage.checkpoint import write_offsets
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.meta_properties import MetaProperties
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from kraft.world.world import World
from tests.support.held import TOPIC, Broker, registration, serving, topic
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


async def test_a_full_disk_refuses_only_its_own_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition of another directory has its start in the checkpoint of that directory."""
    directories = []
    for number, name in enumerate(("full", "other")):
        (tmp_path / name).mkdir()
        meta = MetaProperties("cluster", 1, UUID(int=number + 1))
        directories.append(LogDirectory(str(tmp_path / name), -1, meta, LastStop.CLEAN))
    held = Broker(Replicas(1, World(), directories, {}))
    await held.replicas.registered(5)
    await held.hear(registration(1, 5), *topic(1, leader=1, partitions=2))
    here, there = held.replicas.partitions[TOPIC].values()
    for partition in (here, there):
        partition.append(bytearray(batch(b"a", b"b", b"c")), 1000)
    if directories[0].has(there.log.directory):
        here, there = there, here

    def write(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        if path.startswith(directories[0].path):
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write)
    wanted = [DeleteRecordsPartition(each.index, 2) for each in (here, there)]
    request = DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, wanted)])
    parked = await at_broker(serving(held.replicas), cast(Any, None), request)
    assert isinstance(parked, Parked)
    response = await parked.wait()
    assert isinstance(response, DeleteRecordsResponse)
    refused, deleted = response.topics[0].partitions
    assert refused == DeleteRecordsPartitionResult(here.index, -1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert deleted == DeleteRecordsPartitionResult(there.index, 2, ErrorCode.NONE)
    for partition in (here, there):
        partition.log.abandon()


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
