"""kraft.zookeeper.controller.create_topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.create_topics_response import CreatableTopicResult
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from kraft.zookeeper.controller.effects import ApiRequest, OperationsPerformed
from kraft.zookeeper.operations import Create, Multi
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.topics import decode_topic, encode_topic, topic_path
from tests.support.legacy_cluster import LegacyClusterModel

VERSION = 7


def running(**settings: Any) -> LegacyClusterModel:
    cluster = LegacyClusterModel(3, **settings)
    cluster.start(1, 2, 3)
    return cluster


def topic(name: str = "t", partitions: int = 3, factor: int = 2, **settings: str | None) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, configs=configs)


def assigned(name: str, *replicas: list[int]) -> CreatableTopic:
    assignments = [CreatableReplicaAssignment(index, each) for index, each in enumerate(replicas)]
    return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)


def create(
    cluster: LegacyClusterModel, *topics: CreatableTopic, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    results = cluster.request(request, VERSION).topics
    assert isinstance(results, list)
    return results


def code(cluster: LegacyClusterModel, wanted: CreatableTopic) -> ErrorCode:
    (result,) = create(cluster, wanted)
    return ErrorCode(result.error_code)


def test_a_topic_gets_its_znodes_and_leaders() -> None:
    """ZkAdminManager.createTopics: "write out the config if there is any", then the assignment with a new topic id."""
    cluster = running()
    (result,) = create(cluster, topic(retention_ms="5000"))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 3, 2)
    assert cluster.tree.data(config_path("topics", "t")) == b'{"version":1,"config":{"retention.ms":"5000"}}'
    written = decode_topic("t", cluster.tree.data(topic_path("t")))
    assert written.topic_id == result.topic_id != ZERO_UUID
    assert encode_topic(written) == cluster.tree.data(topic_path("t"))
    assert all(len(each.replicas) == 2 for each in written.partitions.values())
    for index, each in written.partitions.items():
        assert (cluster.state("t", index).leader, cluster.state("t", index).isr) == (each.replicas[0], each.replicas)
    assert len({each.replicas[0] for each in written.partitions.values()}) == 3


def test_a_topic_without_settings_has_an_empty_configuration() -> None:
    """AdminZkClient writes the znode of the settings for every topic."""
    cluster = running()
    create(cluster, topic())
    assert cluster.tree.data(config_path("topics", "t")) == b'{"version":1,"config":{}}'


def test_settings_that_a_former_topic_left_are_replaced() -> None:
    """KafkaZkClient.setOrCreateEntityConfigs."""
    cluster = running()
    cluster.tree.put(config_path("topics", "t"), encode_config({"retention.ms": "1"}))
    assert code(cluster, topic()) == ErrorCode.NONE
    assert cluster.tree.data(config_path("topics", "t")) == b'{"version":1,"config":{}}'


def test_unset_counts_are_the_controllers_and_replicas_are_in_every_rack() -> None:
    """KIP-464; AdminUtils assigns "the replicas for each partition to different racks if possible"."""
    cluster = LegacyClusterModel(4, num_partitions=5, default_replication_factor=2)
    cluster.racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    cluster.start(1, 2, 3, 4)
    (result,) = create(cluster, topic(partitions=-1, factor=-1))
    assert (result.num_partitions, result.replication_factor) == (5, 2)
    written = decode_topic("t", cluster.tree.data(topic_path("t")))
    for each in written.partitions.values():
        assert {cluster.racks[broker_id] for broker_id in each.replicas} == {"a", "b"}


def test_manual_assignments_may_name_brokers_that_are_not_registered() -> None:
    """ZkAdminManager: "we don't check that replicaAssignment contains unknown brokers"."""
    cluster = running()
    assert code(cluster, assigned("t", [9, 1], [2, 1])) == ErrorCode.NONE
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (1, (1,))
    assert cluster.state("t", 1).isr == (2, 1)


def test_the_response_has_the_effective_settings() -> None:
    """KIP-525: the topic's own, then the dynamic and the static defaults of the brokers, then Kafka's."""
    cluster = running(static_values={"log.retention.ms": "7", "message.max.bytes": "9000"})
    cluster.tree.put(config_path("brokers", "<default>"), encode_config({"message.max.bytes": "8000"}))
    (result,) = create(cluster, topic(cleanup_policy="compact"))
    assert result.configs is not None
    found = {each.name: (each.value, each.config_source) for each in result.configs}
    assert found["cleanup.policy"] == ("compact", 1)
    assert found["max.message.bytes"] == ("8000", 3)
    assert found["retention.ms"] == ("7", 4)
    assert found["segment.bytes"] == ("1073741824", 5)


def test_validate_only_writes_nothing() -> None:
    cluster = running()
    before = dict(cluster.tree.znodes)
    fine, bad = create(cluster, topic("a"), topic("b", factor=4), validate_only=True)
    assert (fine.error_code, fine.topic_id, fine.num_partitions) == (ErrorCode.NONE, ZERO_UUID, 3)
    assert bad.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert cluster.tree.znodes.keys() == before.keys()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (topic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("old_topic"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (topic("old.topic"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("leaving"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic(partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic(partitions=-2), ErrorCode.INVALID_PARTITIONS),
        (topic(factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(partitions=10_001), ErrorCode.POLICY_VIOLATION),
        (topic(retention_ms="soon"), ErrorCode.INVALID_CONFIG),
        (topic(no_such_setting="1"), ErrorCode.INVALID_CONFIG),
        (topic(retention_ms=None), ErrorCode.INVALID_CONFIG),
        (topic(retention_ms="1" * 2_000_000), ErrorCode.INVALID_CONFIG),
        (assigned("t", [1], [1, 2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", [1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", [-1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", *[list(range(300))] * 1000), ErrorCode.POLICY_VIOLATION),
        (
            CreatableTopic(name="t", num_partitions=1, assignments=[CreatableReplicaAssignment(0, [1])]),
            ErrorCode.INVALID_REQUEST,
        ),
        (
            CreatableTopic(
                name="t",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[CreatableReplicaAssignment(1, [1])],
            ),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_a_topic_is_refused_by_itself(wanted: CreatableTopic, expected: ErrorCode) -> None:
    """AdminZkClient.validateTopicCreate and KafkaApis.handleCreateTopicsRequest."""
    cluster = running()
    cluster.create_topic("old.topic", (1,))
    cluster.create_topic("leaving", (1,))
    cluster.stop(1)  # The deletion cannot end.
    cluster.tree.create_all([delete_topic_path("leaving")])
    cluster.settle()
    cluster.brokers[2].holds_responses = True
    before = set(cluster.tree.znodes)
    refused, other = create(cluster, wanted, topic("other", factor=1))
    assert (refused.error_code, other.error_code) == (expected, ErrorCode.NONE)
    if wanted.name == "leaving":
        assert refused.error_message == "Topic 'leaving' is marked for deletion."
    assert {each.split("/")[-1] for each in set(cluster.tree.znodes) - before if "partitions" not in each} == {"other"}


def test_topics_of_one_request_are_compared_with_each_other() -> None:
    """KafkaApis: "Found multiple entries for this topic.", and names that collide in metrics."""
    cluster = running()
    results = create(cluster, topic("t"), topic("t"), topic("a.b"), topic("a_b"))
    assert [(each.name, each.error_code) for each in results] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("a.b", ErrorCode.NONE),
        ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


def test_many_topics_are_decided_on_in_parts() -> None:
    """Other tasks run while ZooKeeper performs the operations of a part."""
    cluster = running()
    controller = cluster.controller
    message = CreateTopicsRequest(topics=[topic(f"t{number}", 1, 1) for number in range(120)])
    effects = controller.core.step(0.0, ApiRequest(object(), message, VERSION))
    created = []
    while effects.operations:
        created.append(sum(isinstance(each, Multi) for each in effects.operations))
        results = tuple(cluster.tree.perform(controller.session, each) for each in effects.operations)
        effects = controller.core.step(0.0, OperationsPerformed(results))
    assert [each for each in created if each] == [50, 50, 20]


def test_only_the_controller_creates_topics() -> None:
    cluster = running()
    request = CreateTopicsRequest(topics=[topic("a"), topic("b")])
    response = cluster.request(request, VERSION, broker_id=2)
    assert [each.error_code for each in response.topics] == [ErrorCode.NOT_CONTROLLER] * 2
    assert topic_path("a") not in cluster.tree.znodes


def test_a_topic_that_a_tool_creates_at_the_same_time_exists() -> None:
    """AdminZkClient.writeTopicPartitionAssignment takes NodeExistsException as TOPIC_ALREADY_EXISTS. Neither znode of
    the other topic changes."""
    cluster = running()
    controller, token = cluster.controller, object()
    effects = controller.core.step(0.0, ApiRequest(token, CreateTopicsRequest(topics=[topic()]), VERSION))
    while not any(isinstance(each, Multi) for each in effects.operations):
        results = tuple(cluster.tree.perform(controller.session, each) for each in effects.operations)
        effects = controller.core.step(0.0, OperationsPerformed(results))
    other = json.dumps({"version": 3, "partitions": {"0": [3]}, "topic_id": "AAAAAAAAAAAAAAAAAAAACQ"}).encode()
    cluster.tree.put(config_path("topics", "t"), b'{"version":1,"config":{"retention.ms":"3"}}')
    cluster.tree.perform(None, Create(topic_path("t"), other))
    cluster.perform(controller, effects)
    cluster.settle()
    assert cluster.responses[token].topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert cluster.tree.data(topic_path("t")) == other
    assert b"retention.ms" in cluster.tree.data(config_path("topics", "t"))


def test_a_controller_that_another_one_replaced_creates_nothing() -> None:
    """Each write is conditional on the version of /controller_epoch."""
    cluster = running()
    cluster.tree.put("/controller_epoch", b"9")
    (result,) = create(cluster, topic())
    assert result.error_code == ErrorCode.NOT_CONTROLLER
    assert topic_path("t") not in cluster.tree.znodes
