"""kraft.zookeeper.controller.controlled_shutdown."""

from __future__ import annotations

from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.operations import ZnodeChanged
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from tests.support.legacy_cluster import LegacyClusterModel


def running() -> LegacyClusterModel:
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (3, 2), (2, 3), (3,))
    return cluster


def test_leadership_moves_and_the_broker_leaves_every_isr() -> None:
    """KafkaController.controlledShutdown: "moves leadership of those partitions to another broker that is in that
    partition's ISR"."""
    cluster = running()
    response = cluster.request(ControlledShutdownRequest(broker_id=3, broker_epoch=cluster.epoch(3)), 3)
    assert (response.error_code, response.remaining_partitions) == (ErrorCode.NONE, [])
    led, followed, alone = (cluster.state("t", index) for index in range(3))
    assert (led.leader, led.isr, led.leader_epoch) == (2, (2,), 1)
    assert (followed.leader, followed.isr) == (2, (2,))
    assert (alone.leader, alone.isr) == (3, (3,))
    stops = [each.message for each in cluster.brokers[3].received if isinstance(each.message, StopReplicaRequest)]
    (topic,) = stops[-1].topic_states
    assert [(each.partition_index, each.delete_partition) for each in topic.partition_states] == [(1, False)]


def test_a_partition_without_another_replica_in_sync_remains() -> None:
    cluster = running()
    cluster.stop(2)
    response = cluster.request(ControlledShutdownRequest(broker_id=3, broker_epoch=cluster.epoch(3)), 3)
    assert [(each.topic_name, each.partition_index) for each in response.remaining_partitions] == [("t", 0), ("t", 1)]
    assert cluster.state("t", 0).leader == 3


def test_a_broker_in_controlled_shutdown_gets_no_leadership_until_it_starts_again() -> None:
    cluster = running()
    cluster.request(ControlledShutdownRequest(broker_id=3, broker_epoch=cluster.epoch(3)), 3)
    cluster.create_topic("new", (3, 1))
    assert (cluster.state("new").leader, cluster.state("new").isr) == (1, (1,))
    cluster.stop(3)
    cluster.start(3)
    cluster.create_topic("newer", (3, 1))
    assert cluster.state("newer").leader == 3


def test_a_leader_in_controlled_shutdown_leads_until_another_replica_is_in_sync() -> None:
    """PartitionStateMachine.triggerOnlinePartitionStateChange: only partitions that are new or offline get a leader. An
    unclean one would lose the records of a leader that is alive, and waits for a follower that catches up.
    """
    cluster = running()
    cluster.tree.put(config_path("topics", "t"), encode_config({"unclean.leader.election.enable": "true"}))
    cluster.stop(2)
    cluster.request(ControlledShutdownRequest(broker_id=3, broker_epoch=cluster.epoch(3)), 3)
    before = cluster.state("t", 0)
    assert (before.leader, before.isr) == (3, (3,))
    cluster.start(2)
    cluster.step(cluster.controller, ZnodeChanged(config_path("topics", "t")))
    assert (cluster.state("t", 0).leader, cluster.unclean_elections) == (3, 0)
    cluster.stop(3)
    assert (cluster.state("t", 0).leader, cluster.unclean_elections) == (2, 2)


def test_a_former_incarnation_and_an_unknown_broker_are_refused() -> None:
    """KIP-380: a controlled shutdown of an old broker epoch must not stop the new incarnation."""
    cluster = running()
    stale = ControlledShutdownRequest(broker_id=3, broker_epoch=cluster.epoch(3) - 1)
    assert cluster.request(stale, 3).error_code == ErrorCode.STALE_BROKER_EPOCH
    unknown = ControlledShutdownRequest(broker_id=9, broker_epoch=1)
    assert cluster.request(unknown, 3).error_code == ErrorCode.BROKER_NOT_AVAILABLE
    assert cluster.state("t", 0).leader == 3
    without_epoch = ControlledShutdownRequest(broker_id=3)
    assert cluster.request(without_epoch, 1).error_code == ErrorCode.NONE
