"""kraft.zookeeper.controller.change_topics."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.delete_topics_response import DeletableTopicResult
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from kraft.zookeeper.controller.effects import ApiRequest, OperationsPerformed
from kraft.zookeeper.operations import Multi
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.topics import ReplicaAssignment, TopicAssignment, decode_topic, encode_topic, topic_path
from tests.support.legacy_cluster import LegacyClusterModel
from tests.zookeeper.controller.test_reassignment import reassign

BY_NAME, BY_ID = 5, 6


def running(**settings: Any) -> LegacyClusterModel:
    cluster = LegacyClusterModel(3, **settings)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (2, 1), (3, 2))
    return cluster


def delete(cluster: LegacyClusterModel, *topics: DeleteTopicState, version: int = BY_ID) -> list[DeletableTopicResult]:
    results = cluster.request(DeleteTopicsRequest(topics=list(topics)), version).responses
    assert isinstance(results, list)
    return results


def grow(
    cluster: LegacyClusterModel,
    count: int,
    *replicas: list[int],
    topic: str = "t",
    validate_only: bool = False,
) -> ErrorCode:
    assignments = [CreatePartitionsAssignment(broker_ids=each) for each in replicas] or None
    named = [CreatePartitionsTopic(name=topic, count=count, assignments=assignments)]
    (result,) = cluster.request(CreatePartitionsRequest(topics=named, validate_only=validate_only), 3).results
    return ErrorCode(result.error_code)


def assignment(cluster: LegacyClusterModel) -> TopicAssignment:
    return decode_topic("t", cluster.tree.data(topic_path("t")))


def test_a_topic_is_deleted_by_name_or_by_id() -> None:
    cluster = running()
    cluster.create_topic("u", (1,))
    topic_id = assignment(cluster).topic_id
    assert topic_id is not None
    by_id, by_name = delete(cluster, DeleteTopicState(name=None, topic_id=topic_id), DeleteTopicState(name="u"))
    assert (by_id.name, by_id.topic_id, by_id.error_code) == ("t", topic_id, ErrorCode.NONE)
    assert (by_name.name, by_name.error_code) == ("u", ErrorCode.NONE)
    assert not [path for path in cluster.tree.znodes if path.startswith("/brokers/topics/")]
    assert not [path for path in cluster.tree.znodes if path.startswith("/admin/delete_topics/")]


def test_before_version_6_topics_have_names_only() -> None:
    cluster = running()
    response = cluster.request(DeleteTopicsRequest(topic_names=["t", "gone"]), BY_NAME)
    assert [(each.name, each.error_code) for each in response.responses] == [
        ("t", ErrorCode.NONE),
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert topic_path("t") not in cluster.tree.znodes


def test_a_deletion_under_way_is_no_error() -> None:
    """ZkAdminManager: "still track deletion allowing multiple calls to wait for deletion"."""
    cluster = running()
    cluster.stop(3)
    for _ in range(2):
        (result,) = delete(cluster, DeleteTopicState(name="t"))
        assert result.error_code == ErrorCode.NONE
    assert delete_topic_path("t") in cluster.tree.znodes


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (DeleteTopicState(name="gone"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (DeleteTopicState(name=None, topic_id=UUID(int=77)), ErrorCode.UNKNOWN_TOPIC_ID),
        (DeleteTopicState(name=None, topic_id=ZERO_UUID), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_deletion_is_refused_by_itself(wanted: DeleteTopicState, expected: ErrorCode) -> None:
    cluster = running()
    refused, other = delete(cluster, wanted, DeleteTopicState(name="t"))
    assert (refused.error_code, other.error_code) == (expected, ErrorCode.NONE)


def test_a_name_and_an_id_refuse_the_whole_request() -> None:
    """KafkaApis: "Topic name and topic ID can not both be specified." """
    cluster = running()
    results = delete(cluster, DeleteTopicState(name="t"), DeleteTopicState(name="t", topic_id=UUID(int=1)))
    assert [each.error_code for each in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert topic_path("t") in cluster.tree.znodes


def test_a_disabled_deletion_has_a_code_since_version_3() -> None:
    """delete.topic.enable."""
    cluster = running(deletes_topics=False)
    for version, expected in ((2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)):
        response = cluster.request(DeleteTopicsRequest(topic_names=["t"]), version)
        assert response.responses[0].error_code == expected


def test_partitions_are_added_and_led() -> None:
    """AdminZkClient: the first replicas go on from where the existing ones ended."""
    cluster = running()
    topic_id = assignment(cluster).topic_id
    assert grow(cluster, 4) == ErrorCode.NONE
    written = assignment(cluster)
    assert written.topic_id == topic_id
    assert {index: each.replicas for index, each in written.partitions.items()} == {
        0: (2, 1),
        1: (3, 2),
        2: (1, 3),
        3: (2, 3),
    }
    assert (cluster.state("t", 2).leader, cluster.state("t", 2).isr) == (1, (1, 3))
    assert grow(cluster, 5, [3, 1]) == ErrorCode.NONE
    assert cluster.state("t", 4).isr == (3, 1)


def test_validate_only_adds_nothing() -> None:
    cluster = running()
    before = cluster.tree.data(topic_path("t"))
    assert grow(cluster, 4, validate_only=True) == ErrorCode.NONE
    assert grow(cluster, 2, validate_only=True) == ErrorCode.INVALID_PARTITIONS
    assert cluster.tree.data(topic_path("t")) == before
    assert grow(cluster, 3) == ErrorCode.NONE


def test_a_growth_is_refused_by_itself() -> None:
    """ZkAdminManager.createPartitions and AdminZkClient.validateReplicaAssignment."""
    cluster = running()
    for count in (-1, 0, 1, 2):
        assert grow(cluster, count) == ErrorCode.INVALID_PARTITIONS
    assert grow(cluster, 10_003) == ErrorCode.POLICY_VIOLATION
    for replicas in ([[1]], [[1, 1]], [[1, 9]], [[]], [[1, 2], [2, 3]], [[1, 2, 3]]):
        assert grow(cluster, 3, *replicas) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(cluster, 3, topic="gone") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(assignment(cluster).partitions) == 2
    twice = [CreatePartitionsTopic(name="t", count=3), CreatePartitionsTopic(name="t", count=4)]
    (result,) = cluster.request(CreatePartitionsRequest(topics=twice), 3).results
    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_a_topic_that_is_reassigned_or_deleted_does_not_grow() -> None:
    """ "We prevent adding partitions while topic reassignment is in progress"; "The topic is queued for deletion."."""
    cluster = running()
    assert reassign(cluster, [1, 3]) == ErrorCode.NONE
    assert grow(cluster, 3) == ErrorCode.REASSIGNMENT_IN_PROGRESS
    assert reassign(cluster, None) == ErrorCode.NONE
    cluster.stop(3)
    delete(cluster, DeleteTopicState(name="t"))
    assert grow(cluster, 3) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_never_grows_past_what_zookeeper_accepts() -> None:
    """A request of more than jute.maxbuffer ends the connection, so it would be repeated for ever."""
    cluster = LegacyClusterModel(120)
    cluster.start(*range(1, 121))
    cluster.create_topic("t", tuple(range(1, 121)))
    assert grow(cluster, 3_000) == ErrorCode.POLICY_VIOLATION
    assert grow(cluster, 10) == ErrorCode.NONE


def test_partitions_that_a_tool_adds_at_the_same_time_stay() -> None:
    """The write is conditional on the version of the topic's znode."""
    cluster = running()
    controller, token = cluster.controller, object()
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)])
    effects = controller.core.step(0.0, ApiRequest(token, request, 3))
    while not any(isinstance(each, Multi) for each in effects.operations):
        results = tuple(cluster.tree.perform(controller.session, each) for each in effects.operations)
        effects = controller.core.step(0.0, OperationsPerformed(results))
    known = assignment(cluster)
    more = {**known.partitions, 2: ReplicaAssignment((3, 1))}
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(known.topic_id, more)))
    cluster.perform(controller, effects)
    cluster.settle()
    assert cluster.responses[token].results[0].error_code == ErrorCode.INVALID_PARTITIONS
    assert assignment(cluster).partitions[2] == ReplicaAssignment((3, 1))
    assert cluster.state("t", 2).leader == 3


def test_only_the_controller_changes_topics() -> None:
    cluster = running()
    named = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
    assert cluster.request(named, BY_ID, broker_id=2).responses[0].error_code == ErrorCode.NOT_CONTROLLER
    grown = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=4)])
    assert cluster.request(grown, 3, broker_id=2).results[0].error_code == ErrorCode.NOT_CONTROLLER
    assert len(assignment(cluster).partitions) == 2
