"""CreateTopics: Apache Kafka's error codes, and the records of a creation."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, ControllerConfig
from kraft.messages.config_record import ConfigRecord
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.metadata.image import ResourceType
from kraft.wire.errors import ErrorCode, KafkaError
from tests.controller.toy import CLUSTER_ID, ToyCluster


def cluster(**settings: Any) -> ToyCluster:
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, **settings))
    toy.start(1, 2, 3)
    return toy


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (".", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("tøpic", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a\n", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("dotted_name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("dotted.name", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("__cluster_metadata", ErrorCode.INVALID_REQUEST),
        ("a" * 249, ErrorCode.NONE),
        ("A-z_0.9", ErrorCode.NONE),
    ],
)
def test_valid_and_invalid_topic_names(name: str, code: ErrorCode) -> None:
    toy = cluster()
    toy.create("dotted.name")
    assert toy.create(name).error_code == code


@pytest.mark.parametrize(
    "counts",
    [
        {"a": 6_000, "b": 6_000},
        {"a": 1, "existing": MAX_RECORDS_PER_USER_OPERATION},
        {"a": MAX_RECORDS_PER_USER_OPERATION},  # and the record of the topic
        {"a": 2**31 - 1, "b": -(2**31)},
    ],
)
def test_too_many_partitions_are_refused_with_the_whole_request(counts: dict[str, int]) -> None:
    """Apache: ``ReplicationControlManager.validateTotalNumberOfPartitions``, and ``BoundedList`` for the records."""
    toy = cluster()
    toy.create("existing")
    before = len(toy.log)
    topics = [CreatableTopic(name, count, 1) for name, count in counts.items()]
    with pytest.raises(KafkaError) as refused:
        toy.ask(CreateTopicsRequest(topics=topics))
    assert (refused.value.code, len(toy.log)) == (ErrorCode.POLICY_VIOLATION, before)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        ({"num_partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"num_partitions": -2}, ErrorCode.INVALID_PARTITIONS),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": -2}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 4}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"assignments": {0: [1]}, "num_partitions": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": {0: [1]}, "replication_factor": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": {0: []}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [1, 1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [9]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [1, 2], 1: [1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {1: [1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": {0: [1, 2], 1: [2, 3]}}, ErrorCode.NONE),
    ],
)
def test_counts_and_assignments(topic: dict[str, Any], code: ErrorCode) -> None:
    assignments = topic.pop("assignments", {})
    default = -1 if assignments else 1
    wanted = CreatableTopic(
        **{"name": "t", "num_partitions": default, "replication_factor": default, **topic},
        assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=ids) for i, ids in assignments.items()],
    )
    toy = cluster()
    before = len(toy.log)
    result = toy.ask(CreateTopicsRequest(topics=[wanted])).topics[0]
    assert result.error_code == code
    assert (len(toy.log) > before) == (code is ErrorCode.NONE)


@pytest.mark.parametrize(
    "configs",
    [{"no.such.key": "1"}, {"retention.ms": "soon"}, {"cleanup.policy": "keep"}, {"retention.ms": None}],
)
def test_a_bad_configuration_is_refused(configs: dict[str, str | None]) -> None:
    assert cluster().create(configs=configs).error_code == ErrorCode.INVALID_CONFIG


def test_a_name_twice_in_one_request_is_refused_once() -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("a", "b", "a")]
    toy = cluster()
    response = toy.ask(CreateTopicsRequest(topics=topics))
    assert [(t.name, t.error_code) for t in response.topics] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]


def test_two_names_that_collide_in_one_request() -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("a.b", "a_b")]
    response = cluster().ask(CreateTopicsRequest(topics=topics))
    assert [t.error_code for t in response.topics] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_validate_only_answers_the_same_and_makes_nothing() -> None:
    toy = cluster()
    before = len(toy.log)
    result = toy.create(partitions=2, replication=3, validate_only=True)
    assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 2, 3)
    assert len(toy.log) == before


def test_defaults_of_the_cluster() -> None:
    """KIP-464: -1 means the defaults of the cluster."""
    toy = cluster(num_partitions=4, default_replication_factor=2)
    result = toy.create(partitions=-1, replication=-1)
    assert (result.num_partitions, result.replication_factor) == (4, 2)
    assert len(toy.image.topics[result.topic_id].partitions) == 4


def test_the_answer_has_the_effective_configuration() -> None:
    """KIP-525: value and source of every topic setting."""
    toy = cluster(static_values={"log.retention.hours": "1"})
    configs = {c.name: c for c in toy.create(configs={"segment.bytes": "1000"}).configs or []}
    assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("1000", 1)
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("3600000", 4)
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == ("delete", 5)


def test_the_settings_of_the_controllers_node_are_stronger_than_those_of_all_nodes() -> None:
    """ConfigurationControlManager.computeEffectiveTopicConfigs: "2. dynamic node overridden configs"."""
    toy = cluster(node_id=7, static_values={"log.retention.ms": "1", "log.segment.bytes": "1000"})
    records = [
        ConfigRecord(resource_type=ResourceType.BROKER, resource_name=node, name=name, value=value)
        for node, name, value in (
            ("", "log.retention.ms", "2"),
            ("", "compression.type", "lz4"),
            ("7", "log.retention.ms", "3"),
            ("1", "log.segment.bytes", "9000"),
        )
    ]
    toy.log += records
    toy.core.replay(records, len(toy.log), 1, 0)
    configs = {each.name: (each.value, each.config_source) for each in toy.create().configs or []}
    assert [configs[name] for name in ("retention.ms", "compression.type", "segment.bytes")] == [
        ("3", 2),
        ("lz4", 3),
        ("1000", 4),
    ]


def test_a_broker_that_shuts_down_gets_no_replica() -> None:
    """BrokerHeartbeatManager.UsableBrokerIterator. Once it has shut down it is fenced, and may come back."""
    toy = cluster()
    toy.create("led", assignment={0: [3, 1]})
    toy.heartbeat(3, stop=True)
    assert (toy.image.brokers[3].in_controlled_shutdown, toy.image.brokers[3].fenced) == (True, False)
    assert toy.create(replication=3).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    for broker_id in (1, 2):  # they have replayed who leads now
        toy.heartbeat(broker_id)
    toy.heartbeat(3, stop=True)
    assert toy.image.brokers[3].fenced
    assert toy.create(replication=3).error_code == ErrorCode.NONE


def test_a_new_partition_is_led_by_its_first_active_replica() -> None:
    toy = cluster()
    toy.heartbeat(2, fence=True)
    toy.create(assignment={0: [2, 3, 1]})
    partition = toy.partition()
    assert (partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch) == ((3, 1), 3, 0, 0)
    assert partition.directories == tuple(toy.image.brokers[b].log_dirs[0] for b in (2, 3, 1))


def test_only_fenced_brokers_in_an_assignment() -> None:
    toy = cluster()
    toy.heartbeat(2, fence=True)
    assert toy.create(assignment={0: [2]}).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_no_active_broker_at_all() -> None:
    toy = ToyCluster()
    toy.register(1)
    assert toy.create().error_code == ErrorCode.INVALID_REPLICATION_FACTOR
