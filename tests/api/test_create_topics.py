"""CreateTopics: creations, and refusals with Apache Kafka's error codes."""

from __future__ import annotations

import pytest

from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.create_topics_response import CreatableTopicResult
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.talk import create, end_offset, topic_id_of


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
