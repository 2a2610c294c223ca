"""kraft.zookeeper.controller.notifications."""

from __future__ import annotations

from typing import Any

from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.operations import ANY_VERSION, Create, Set
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.notifications import (
    ISR_CHANGE_PREFIX,
    ISR_CHANGES,
    LOG_DIR_EVENT_PREFIX,
    LOG_DIR_EVENTS,
    encode_isr_change,
    encode_log_dir_event,
)
from kraft.zookeeper.znodes.topics import state_path
from tests.support.legacy_cluster import LegacyClusterModel, response


def running() -> LegacyClusterModel:
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (2, 3), (3, 2))
    return cluster


def notify(cluster: LegacyClusterModel, parent: str, prefix: str, data: bytes) -> None:
    cluster.tree.perform(None, Create(f"{parent}/{prefix}", data, sequence=True))
    cluster.settle()


def test_an_isr_that_a_leader_wrote_itself_reaches_every_broker() -> None:
    """KafkaController.processIsrChangeNotification, for brokers before AlterPartition (2.7)."""
    cluster = running()
    data = cluster.tree.data(state_path("t", 0)).replace(b"[2,3]", b"[2]")
    cluster.tree.perform(None, Set(state_path("t", 0), data, ANY_VERSION))
    notify(cluster, ISR_CHANGES, ISR_CHANGE_PREFIX, encode_isr_change([("t", 0), ("gone", 0)]))
    last = cluster.brokers[1].received[-1].message
    (state,) = last.topic_states[0].partition_states
    assert (state.isr, state.zk_version) == ([2], 1)
    assert not [path for path in cluster.tree.znodes if path.startswith(f"{ISR_CHANGES}/")]


def test_a_replica_on_a_failed_disk_is_offline() -> None:
    """onBrokerLogDirFailure: "send LeaderAndIsrRequest for all replicas on those brokers to see if they are still
    online" (KIP-112)."""
    cluster = running()

    def failing(message: Any) -> Any:
        if not isinstance(message, LeaderAndIsrRequest):
            return response(message)
        failed = [LeaderAndIsrPartitionError(partition_index=0, error_code=ErrorCode.KAFKA_STORAGE_ERROR)]
        topics = [LeaderAndIsrTopicError(each.topic_id, failed) for each in message.topic_states]
        return LeaderAndIsrResponse(topics=topics)

    cluster.brokers[2].respond = failing
    notify(cluster, LOG_DIR_EVENTS, LOG_DIR_EVENT_PREFIX, encode_log_dir_event(2))
    failed, other = cluster.state("t", 0), cluster.state("t", 1)
    assert (failed.leader, failed.isr) == (3, (3,))
    assert (other.leader, other.isr) == (3, (3, 2))
    metadata = cluster.brokers[1].received[-1].message.topic_states[0].partition_states
    assert [each.offline_replicas for each in metadata if each.partition_index == 0] == [[2]]
    assert not [path for path in cluster.tree.znodes if path.startswith(f"{LOG_DIR_EVENTS}/")]


def test_a_failed_disk_brings_no_deleted_replica_back() -> None:
    """The broker would create its replica again, and nothing deletes that one: the broker then refuses the next topic
    of the name (INCONSISTENT_TOPIC_ID).
    """
    cluster = running()
    cluster.stop(3)
    cluster.tree.create_all([delete_topic_path("t")])
    cluster.settle()
    received = cluster.brokers[2].received
    assert isinstance(received[-1].message, StopReplicaRequest)
    notify(cluster, LOG_DIR_EVENTS, LOG_DIR_EVENT_PREFIX, encode_log_dir_event(2))
    assert isinstance(received[-1].message, StopReplicaRequest)


def test_malformed_notifications_are_dropped_with_a_note() -> None:
    cluster = running()
    notify(cluster, ISR_CHANGES, ISR_CHANGE_PREFIX, b"?")
    notify(cluster, LOG_DIR_EVENTS, LOG_DIR_EVENT_PREFIX, b"{}")
    assert [note.split("; ")[1] for note in cluster.notes] == ["the notification is dropped"] * 2
    assert not [path for path in cluster.tree.znodes if "notification/" in path]
