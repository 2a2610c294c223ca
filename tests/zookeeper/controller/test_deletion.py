"""kraft.zookeeper.controller.deletion."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaResponse
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.operations import Delete, Failure, Result, Write
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.cluster import config_path
from kraft.zookeeper.znodes.topics import partitions_path, topic_path
from tests.support.legacy_cluster import LegacyClusterModel, response
from tests.support.znode_tree import ZnodeTree


def running(**settings: object) -> LegacyClusterModel:
    cluster = LegacyClusterModel(2, **settings)
    cluster.start(1, 2)
    cluster.tree.put(config_path("topics", "t"), b'{"version":1,"config":{}}')
    cluster.create_topic("t", (1, 2), (2,))
    return cluster


def delete(cluster: LegacyClusterModel) -> None:
    cluster.tree.create_all([delete_topic_path("t")])
    cluster.settle()


def test_a_deleted_topic_leaves_nothing_in_zookeeper() -> None:
    """TopicDeletionManager: "A topic is marked successfully deleted only if all replicas are in TopicDeletionSuccessful
    state"."""
    cluster = running()
    delete(cluster)
    assert not [path for path in cluster.tree.znodes if path.endswith("/t") or "/t/" in path]
    for broker in cluster.brokers.values():
        stop = next(each.message for each in broker.received if isinstance(each.message, StopReplicaRequest))
        states = stop.topic_states[0].partition_states
        assert all((each.delete_partition, each.leader_epoch) == (True, -2) for each in states)
    cluster.create_topic("t", (2,))
    assert (cluster.state("t").leader, cluster.state("t").leader_epoch) == (2, 0)


def test_a_deleted_topic_leaves_no_watch() -> None:
    """ZooKeeper and its client keep a watch of a path that does not exist until the session ends."""
    cluster = running()
    delete(cluster)
    assert not [path for _, path in cluster.tree.watches() if path.startswith(topic_path("t"))]


def test_brokers_learn_that_the_topic_goes_before_its_replicas_do() -> None:
    """ "send update metadata so that brokers stop serving data for topics to be deleted"."""
    cluster = running()
    received = cluster.brokers[2].received
    received.clear()
    delete(cluster)
    kinds = [type(each.message) for each in received]
    assert kinds == [UpdateMetadataRequest, StopReplicaRequest]
    assert {each.leader for each in received[0].message.topic_states[0].partition_states} == {-2}


def test_brokers_learn_that_a_topic_goes_whose_replicas_are_all_offline() -> None:
    """TopicDeletionManager.onTopicDeletion sends the metadata before it looks which replicas are alive."""
    cluster = running()
    cluster.create_topic("offline", (2,), (2,))
    cluster.stop(2)
    received = cluster.brokers[1].received
    received.clear()
    cluster.tree.create_all([delete_topic_path("offline")])
    cluster.settle()
    (request,) = received
    assert isinstance(request.message, UpdateMetadataRequest)
    assert [each.leader for each in request.message.topic_states[0].partition_states] == [-2, -2]
    cluster.start(2)
    assert topic_path("offline") not in cluster.tree.znodes


def test_the_deletion_waits_for_a_broker_that_is_down() -> None:
    cluster = running()
    cluster.stop(2)
    delete(cluster)
    assert topic_path("t") in cluster.tree.znodes
    cluster.start(2)
    assert topic_path("t") not in cluster.tree.znodes


def test_a_new_controller_finishes_a_deletion() -> None:
    cluster = running()
    cluster.brokers[2].holds_responses = True
    delete(cluster)
    assert topic_path("t") in cluster.tree.znodes
    cluster.expire(1)
    cluster.brokers[1].is_up = False
    cluster.brokers[2].holds_responses = False
    cluster.settle()
    assert (cluster.controller.broker_id, topic_path("t") in cluster.tree.znodes) == (2, True)
    cluster.start(1)
    assert topic_path("t") not in cluster.tree.znodes


def test_a_replica_that_failed_is_asked_again_after_a_restart() -> None:
    cluster = running()

    def failing(message: Any) -> Any:
        if isinstance(message, StopReplicaRequest):
            return StopReplicaResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        return response(message)

    cluster.brokers[2].respond = failing
    delete(cluster)
    assert topic_path("t") in cluster.tree.znodes
    cluster.brokers[2].respond = response
    cluster.stop(2)
    cluster.start(2)
    assert topic_path("t") not in cluster.tree.znodes


def test_a_failure_keeps_the_settings_and_the_request_until_the_topic_is_gone() -> None:
    """TopicDeletionManager.completeDeleteTopic deletes the topic, its settings and the request one after the other, and
    an error ends it. So a topic that stays has its settings, and the request, which is taken up again."""
    cluster = running()
    added = f"{partitions_path('t')}/7"

    def adding(message: Any) -> Any:
        if isinstance(message, StopReplicaRequest):
            cluster.tree.create_all([f"{added}/state/unknown"])
        return response(message)

    cluster.brokers[2].respond = adding
    delete(cluster)
    assert {topic_path("t"), config_path("topics", "t"), delete_topic_path("t")} <= set(cluster.tree.znodes)
    assert "cannot delete /brokers/topics/t/partitions/7/state: the znode has children" in cluster.notes[-1]
    cluster.tree.perform(None, Delete(f"{added}/state/unknown"))
    cluster.stop(2)
    assert not [path for path in cluster.tree.znodes if path.endswith("/t") or "/t/" in path]
    assert "t" not in cluster.controller.core.active.cluster.topics


def test_a_deletion_that_zookeeper_refuses_is_completed_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """All replicas are gone already, so no response of a broker would resume it."""
    cluster = running()
    perform = ZnodeTree._multi

    def refuse(tree: ZnodeTree, session: object, writes: tuple[Write, ...]) -> Result:
        refused = any(isinstance(each, Delete) for each in writes)
        return Failure.REFUSED if refused else perform(tree, session, writes)

    with monkeypatch.context() as patch:
        patch.setattr(ZnodeTree, "_multi", refuse)
        delete(cluster)
    assert topic_path("t") in cluster.tree.znodes
    cluster.end_pause()
    assert not [path for path in cluster.tree.znodes if path.endswith("/t") or "/t/" in path]
    assert cluster.repeated == []


def test_requests_to_delete_are_dropped_for_unknown_topics_and_if_deletion_is_disabled() -> None:
    cluster = running(deletes_topics=False)
    cluster.tree.create_all([delete_topic_path("other")])
    delete(cluster)
    assert topic_path("t") in cluster.tree.znodes
    assert not [path for path in cluster.tree.znodes if path.startswith("/admin/delete_topics/")]


def test_a_topic_that_is_being_deleted_gets_no_leader() -> None:
    cluster = running()
    cluster.brokers[2].holds_responses = True
    delete(cluster)
    before = cluster.state("t", 0)
    cluster.stop(2)
    assert cluster.state("t", 0) == before
