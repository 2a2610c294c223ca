"""kraft.zookeeper.controller.alter_partition."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.operations import ANY_VERSION, Failure, Set
from kraft.zookeeper.znodes.topics import state_path
from tests.support.legacy_cluster import LegacyClusterModel
from tests.support.znode_tree import ZnodeTree

TOPIC_ID = UUID(int=1)


def led_by_1() -> LegacyClusterModel:
    """Three brokers, and the partition t-0 on all of them, led by broker 1."""
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (1, 2, 3))
    return cluster


def propose(cluster: LegacyClusterModel, *isr: int, **fields: Any) -> PartitionData:
    """The response for one partition. ``fields`` replace those of a proposal that is right."""
    topic, topic_id = fields.pop("topic", ("t", TOPIC_ID))
    state = cluster.state(topic)
    epochs = fields.pop("epochs", {})
    leader = fields.pop("leader", 1)
    proposal = PartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each, broker_epoch=epochs.get(each, -1)) for each in isr],
    )
    for name, value in fields.items():
        setattr(proposal, name, value)
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=cluster.epoch(leader),
        topics=[TopicData(topic_id=topic_id, partitions=[proposal])],
    )
    response = cluster.request(request, 3)
    assert response.error_code == ErrorCode.NONE
    return response.topics[0].partitions[0]


def test_the_controller_writes_the_isr_and_sends_its_metadata() -> None:
    """KIP-497: the leader sends AlterPartition instead of writing the znode itself."""
    cluster = led_by_1()
    result = propose(cluster, 1, 3)
    assert (result.error_code, result.isr, result.leader_epoch, result.partition_epoch) == (0, [1, 3], 0, 1)
    state = cluster.state("t")
    assert (state.isr, state.partition_epoch, state.leader_epoch) == ((1, 3), 1, 0)
    last = cluster.brokers[2].received[-1].message
    assert isinstance(last, UpdateMetadataRequest)
    assert last.topic_states[0].partition_states[0].isr == [1, 3]


def test_a_repeated_proposal_succeeds() -> None:
    """KafkaController.tryProcessAlterPartition: "this check must be done before fencing based on partition epoch to
    maintain idempotency"."""
    cluster = led_by_1()
    propose(cluster, 1, 3)
    again = propose(cluster, 1, 3, partition_epoch=0)
    assert (again.error_code, again.partition_epoch) == (0, 1)


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ((1, 2), {"partition_epoch": 7}, ErrorCode.NOT_CONTROLLER),
        ((1, 2), {"leader_epoch": 7}, ErrorCode.NOT_CONTROLLER),
        ((1, 2), {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ((1, 2), {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ((1, 2), {"partition_index": 4}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((1, 2), {"leader": 2}, ErrorCode.INVALID_REQUEST),
        ((1, 9), {}, ErrorCode.INVALID_REQUEST),
        ((2,), {}, ErrorCode.INVALID_REQUEST),
        ((1,), {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ((1, 2), {"epochs": {2: 1}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_proposal_that_is_refused_writes_nothing(isr: tuple[int, ...], fields: dict[str, Any], code: int) -> None:
    cluster = led_by_1()
    before = cluster.state("t")
    assert propose(cluster, *isr, **fields).error_code == code
    assert cluster.state("t") == before


def test_a_replica_in_controlled_shutdown_cannot_join() -> None:
    """KIP-841: "If a replica is not online, reject the update"."""
    cluster = led_by_1()
    propose(cluster, 1, 2)
    active = cluster.controller.core.active
    assert active is not None
    active.cluster.shutting_down.add(3)
    assert propose(cluster, 1, 2, 3).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_a_proposal_loses_against_another_writer() -> None:
    """The write is conditional on the version of the znode, and a proposal is not decided again on a newer state."""
    cluster = led_by_1()
    data = cluster.tree.data(state_path("t", 0)).replace(b"[1,2,3]", b"[1,2]")
    cluster.tree.perform(None, Set(state_path("t", 0), data, ANY_VERSION))
    assert propose(cluster, 1, 3, partition_epoch=0).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.state("t").isr == (1, 2)


def test_an_unknown_topic_and_a_former_incarnation_are_refused() -> None:
    cluster = led_by_1()
    topics = [TopicData(topic_id=UUID(int=99), partitions=[PartitionData(partition_index=0)])]
    request = AlterPartitionRequest(broker_id=1, broker_epoch=cluster.epoch(1), topics=topics)
    assert cluster.request(request, 3).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    request.broker_epoch -= 1
    assert cluster.request(request, 3).error_code == ErrorCode.STALE_BROKER_EPOCH
    request.broker_id = 8
    assert cluster.request(request, 3).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_that_is_not_the_controller_says_so() -> None:
    cluster = led_by_1()
    request = AlterPartitionRequest(broker_id=1, broker_epoch=cluster.epoch(1))
    assert cluster.request(request, 3, broker_id=2).error_code == ErrorCode.NOT_CONTROLLER


def test_a_proposal_that_cannot_be_written_has_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """KafkaController.processAlterPartition: ``Left(Errors.forException(e))``. A leader waits before it proposes again
    what has an error."""
    cluster = led_by_1()
    with monkeypatch.context() as patch:
        patch.setattr(ZnodeTree, "_multi", lambda *_: Failure.REFUSED)
        assert propose(cluster, 1, 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.state("t").isr == (1, 2, 3)
    assert propose(cluster, 1, 3).error_code == ErrorCode.NONE
