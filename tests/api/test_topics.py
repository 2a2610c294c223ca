"""CreateTopics, DeleteTopics, CreatePartitions, DescribeLogDirs, InitProducerId: answers as Apache Kafka gives them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from kraft.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kraft.messages.create_partitions_response import CreatePartitionsTopicResult
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.create_topics_response import CreatableTopicResult
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.nodes import connected, node_in
from tests.support.talk import batch, create, end_offset, produce, topic_id_of, values


async def _create(
    broker: Connection, topic: CreatableTopic, version: int = 7, *, validate_only: bool = False
) -> CreatableTopicResult:
    request = CreateTopicsRequest(topics=[topic], validate_only=validate_only)
    answer: CreatableTopicResult = (await broker.request(request, version)).topics[0]
    return answer


@pytest.mark.parametrize("version", range(2, 8))
async def test_every_version_creates(broker: Connection, new_name: str, version: int) -> None:
    topic = CreatableTopic(new_name, 2, 1, configs=[CreatableTopicConfig("retention.ms", "1000")])
    answer = await _create(broker, topic, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    if version >= 5:
        assert (answer.num_partitions, answer.replication_factor) == (2, 1)
        settings = {each.name: each.value for each in answer.configs or []}
        assert settings["retention.ms"] == "1000"
        assert settings["max.message.bytes"] == "1048588"
    if version >= 7:
        assert answer.topic_id == await topic_id_of(broker, new_name)
    assert await end_offset(broker, new_name) == 0


def _assigned(*replicas: list[int], start: int = 0) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(start + n, each) for n, each in enumerate(replicas)]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (CreatableTopic("a/b", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("..", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("x" * 250, 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("no.such", "1")]), ErrorCode.INVALID_CONFIG),
        (CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("retention.ms", "x")]), ErrorCode.INVALID_CONFIG),
        (CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("retention.ms", None)]), ErrorCode.INVALID_CONFIG),
        (CreatableTopic("t", 1, -1, assignments=_assigned([1])), ErrorCode.INVALID_REQUEST),
        (CreatableTopic("t", -1, -1, assignments=_assigned([1], start=1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", -1, -1, assignments=_assigned([9])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", -1, -1, assignments=_assigned([1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("t", -1, -1, assignments=_assigned([])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else None,
)
async def test_topics_that_cannot_be_created(broker: Connection, topic: CreatableTopic, code: ErrorCode) -> None:
    answer = await _create(broker, topic)
    assert (ErrorCode(answer.error_code), answer.topic_id) == (code, ZERO_UUID)
    assert answer.error_message


async def test_names_are_taken_once(broker: Connection, new_name: str) -> None:
    await create(broker, f"{new_name}.a")
    assert (await _create(broker, CreatableTopic(f"{new_name}.a", 1, 1))).error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    twin = await _create(broker, CreatableTopic(f"{new_name}_a", 1, 1))
    assert twin.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION, "in metric names . and _ are one"
    request = CreateTopicsRequest(topics=[CreatableTopic(f"{new_name}.b", 1, 1)] * 2)
    answers = (await broker.request(request)).topics
    assert {each.error_code for each in answers} == {ErrorCode.INVALID_REQUEST}


async def test_validate_only_creates_nothing(broker: Connection, new_name: str) -> None:
    answer = await _create(broker, CreatableTopic(new_name, 3, 1), validate_only=True)
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    assert await topic_id_of(broker, new_name) == ZERO_UUID


async def test_the_broker_chooses_counts(broker: Connection, new_name: str) -> None:
    """KIP-464: -1 for ``num.partitions`` and ``default.replication.factor``."""
    answer = await _create(broker, CreatableTopic(new_name, -1, -1))
    assert (answer.error_code, answer.num_partitions, answer.replication_factor) == (0, 1, 1)


@pytest.mark.parametrize("version", range(1, 7))
async def test_every_version_deletes(broker: Connection, topic: str, version: int) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], topic_names=[topic], timeout_ms=5000)
    if version >= 6:
        request.topic_names = []
    else:
        request.topics = []
    (answer,) = (await broker.request(request, version)).responses
    assert (answer.error_code, answer.name) == (0, topic)
    assert (await produce(broker, topic, batch(b"a"))).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_delete_by_id_and_its_refusals(broker: Connection, topic: str) -> None:
    topic_id = await topic_id_of(broker, topic)
    states = [DeleteTopicState(topic_id=topic_id), DeleteTopicState(topic_id=uuid.uuid4()), DeleteTopicState("nowhere")]
    answers = (await broker.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6)).responses
    codes = {(each.name, each.error_code) for each in answers}
    assert codes == {
        (topic, 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    }


async def test_deletion_can_be_switched_off() -> None:
    """``delete.topic.enable``."""
    async with (
        embedded_node(topics={"orders": 1}, settings={"delete.topic.enable": "false"}) as node,
        connected(node) as broker,
    ):
        request = DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=5000)
        (answer,) = (await broker.request(request, 6)).responses
        assert answer.error_code == ErrorCode.TOPIC_DELETION_DISABLED


@pytest.mark.parametrize("length", [10, 249])
async def test_a_topic_that_is_deleted_and_created_again_is_empty(tmp_path: Path, length: int) -> None:
    """With a name of any length, and also after a restart in between."""
    name = "n" * length
    async with node_in(tmp_path) as node:
        first = await create(node.broker, name, 2)
        await produce(node.broker, name, batch(b"old"))
        await node.broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=5000), 6)
        second = await create(node.broker, name, 1)
        assert second != first
        assert await end_offset(node.broker, name) == 0
        await produce(node.broker, name, batch(b"new"))
        node.kill()
    async with node_in(tmp_path) as node:
        assert await values(node.broker, name) == [b"new"]
        assert await topic_id_of(node.broker, name) == second


async def _grow(
    broker: Connection, topic: CreatePartitionsTopic, version: int = 3, *, validate_only: bool = False
) -> CreatePartitionsTopicResult:
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=5000, validate_only=validate_only)
    answer: CreatePartitionsTopicResult = (await broker.request(request, version)).results[0]
    return answer


@pytest.mark.parametrize("version", range(4))
async def test_more_partitions(broker: Connection, topic: str, version: int) -> None:
    assert (await _grow(broker, CreatePartitionsTopic(topic, 3, None), version)).error_code == 0
    assert (await produce(broker, topic, batch(b"a"), partition=2)).error_code == 0


async def test_partitions_are_never_fewer(broker: Connection, new_name: str) -> None:
    await create(broker, new_name, 2)
    placed = [CreatePartitionsAssignment([1])]
    for wanted, code in (
        (CreatePartitionsTopic(new_name, 1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic(new_name, 2, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("nowhere", 5, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CreatePartitionsTopic(new_name, 5, placed), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic(new_name, 3, [CreatePartitionsAssignment([7])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ):
        answer = await _grow(broker, wanted)
        explained = code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (ErrorCode(answer.error_code), bool(answer.error_message)) == (code, explained)
    assert (await _grow(broker, CreatePartitionsTopic(new_name, 3, placed), validate_only=True)).error_code == 0
    unknown = await produce(broker, new_name, batch(b"a"), partition=2)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(1, 5))
async def test_describe_log_dirs(broker: Connection, new_name: str, version: int) -> None:
    """KIP-113, and the size of the volume (KIP-827)."""
    await create(broker, new_name, 2)
    records = batch(b"a" * 500)
    await produce(broker, new_name, records, partition=1)
    request = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(new_name, [0, 1, 9])])
    (result,) = (await broker.request(request, version)).results
    assert result.error_code == 0
    assert Path(result.log_dir).is_absolute()
    (topic,) = result.topics
    sizes = {each.partition_index: each.partition_size for each in topic.partitions}
    assert sizes == {0: 0, 1: len(records)}
    if version >= 4:
        assert result.total_bytes >= result.usable_bytes > 0
    everything = (await broker.request(DescribeLogDirsRequest(topics=None), version)).results[0]
    assert new_name in {each.name for each in everything.topics}


@pytest.mark.parametrize("version", range(6))
async def test_producer_ids_are_never_given_twice(broker: Connection, version: int) -> None:
    """An idempotent producer has no transactional id, and its timeout means nothing."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
    answers = [await broker.request(request, version) for _ in range(3)]
    assert {(each.error_code, each.producer_epoch) for each in answers} == {(0, 0)}
    assert len({each.producer_id for each in answers}) == 3


async def test_producer_ids_after_a_restart(tmp_path: Path) -> None:
    request = InitProducerIdRequest(transactional_id=None)
    given: list[int] = []
    for _ in range(3):
        async with node_in(tmp_path) as node:
            given += [(await node.broker.request(request)).producer_id for _ in range(2)]
            node.kill()
    assert len(set(given)) == 6


async def test_transactional_producers_are_refused(broker: Connection) -> None:
    answer = await broker.request(InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000))
    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)
