"""DeleteTopics and CreatePartitions."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, ControllerConfig
from kraft.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID
from tests.controller.toy import CLUSTER_ID, ToyCluster


def cluster(**settings: bool) -> ToyCluster:
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, **settings))  # type: ignore[arg-type]
    toy.start(1, 2)
    toy.create("t", partitions=2, replication=2, configs={"segment.ms": "9"})
    return toy


def delete(toy: ToyCluster, *topics: tuple[str | None, UUID]) -> list[int]:
    states = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics]
    return [result.error_code for result in toy.ask(DeleteTopicsRequest(topics=states)).responses]


def test_by_name_and_by_id() -> None:
    toy = cluster()
    other = toy.create("u").topic_id
    assert delete(toy, ("t", ZERO_UUID), (None, other)) == [0, 0]
    assert not toy.image.topics
    assert not toy.image.configs


def test_by_name_in_older_versions() -> None:
    toy = cluster()
    responses = toy.ask(DeleteTopicsRequest(topic_names=["t", "u"]), 5).responses
    assert [r.error_code for r in responses] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_deletion_refused() -> None:
    toy = cluster()
    topic = toy.image.topic("t")
    assert topic is not None
    assert delete(toy, ("u", ZERO_UUID)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert delete(toy, (None, UUID(int=3))) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert delete(toy, (None, ZERO_UUID)) == [ErrorCode.INVALID_REQUEST]
    assert delete(toy, ("t", topic.id)) == [ErrorCode.INVALID_REQUEST]
    assert delete(toy, ("t", ZERO_UUID), (None, topic.id)) == [ErrorCode.INVALID_REQUEST]
    assert delete(toy, (None, topic.id), ("t", ZERO_UUID)) == [ErrorCode.INVALID_REQUEST]
    assert delete(toy, ("t", ZERO_UUID), ("t", ZERO_UUID)) == [ErrorCode.INVALID_REQUEST]
    assert delete(toy, ("t", ZERO_UUID), (None, topic.id), (None, topic.id)) == [ErrorCode.INVALID_REQUEST] * 2
    assert "t" in toy.image.topic_ids


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_switched_off(version: int, code: ErrorCode) -> None:
    """delete.topic.enable; KIP-322 gave it an error code of its own in v3."""
    toy = cluster(delete_topic_enable=False)
    with pytest.raises(KafkaError) as refused:
        toy.ask(DeleteTopicsRequest(topic_names=["t"]), version)
    assert refused.value.code is code


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (4, None, ErrorCode.NONE),
        (3, [[2, 1]], ErrorCode.NONE),
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (-1, None, ErrorCode.INVALID_PARTITIONS),
        (4, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MAX_RECORDS_PER_USER_OPERATION + 3, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_more_partitions(count: int, assignments: list[list[int]] | None, code: ErrorCode) -> None:
    toy = cluster()
    manual = None if assignments is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    topic = CreatePartitionsTopic(name="t", count=count, assignments=manual)
    for validate_only in (True, False):
        response = toy.ask(CreatePartitionsRequest(topics=[topic], validate_only=validate_only))
        assert response.results[0].error_code == code
        done = code is ErrorCode.NONE and not validate_only
        created = toy.image.topic("t")
        assert created is not None
        assert sorted(created.partitions) == list(range(count if done else 2))
        assert all(len(partition.replicas) == 2 for partition in created.partitions.values())


def test_partitions_of_no_topic_and_of_one_topic_twice() -> None:
    toy = cluster()
    unknown = CreatePartitionsTopic(name="u", count=3, assignments=None)
    twice = CreatePartitionsTopic(name="t", count=3, assignments=None)
    response = toy.ask(CreatePartitionsRequest(topics=[unknown, twice, twice]))
    assert [r.error_code for r in response.results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]
