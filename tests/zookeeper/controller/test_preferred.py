"""kraft.zookeeper.controller.preferred."""

from __future__ import annotations

from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.effects import RebalanceDue
from kraft.zookeeper.operations import Create
from kraft.zookeeper.znodes.admin import PREFERRED_REPLICA_ELECTION, delete_topic_path, encode_preferred_election
from tests.support.legacy_cluster import LegacyClusterModel
from tests.zookeeper.controller.test_alter_partition import propose
from tests.zookeeper.controller.test_reassignment import reassign

PREFERRED, UNCLEAN = 0, 1


def led_by_2() -> LegacyClusterModel:
    """t-0 prefers broker 1, which is in sync again, and is led by broker 2."""
    cluster = LegacyClusterModel(3)
    cluster.start(3, 1, 2)
    cluster.create_topic("t", (1, 2))
    cluster.stop(1)
    cluster.start(1)
    assert propose(cluster, 2, 1, leader=2).error_code == ErrorCode.NONE
    assert cluster.state("t").leader == 2
    return cluster


def elect(cluster: LegacyClusterModel, kind: int, *partitions: tuple[str, int]) -> list[int]:
    named = [TopicPartitions(topic=topic, partitions=[index]) for topic, index in partitions]
    response = cluster.request(ElectLeadersRequest(election_type=kind, topic_partitions=named), 2)
    return [each.error_code for topic in response.replica_election_results for each in topic.partition_result]


def test_a_tool_asks_for_preferred_leaders_by_a_znode() -> None:
    cluster = led_by_2()
    data = encode_preferred_election([("t", 0), ("gone", 1)])
    cluster.tree.perform(None, Create(PREFERRED_REPLICA_ELECTION, data))
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (2, 1))
    assert PREFERRED_REPLICA_ELECTION not in cluster.tree.znodes
    cluster.tree.perform(None, Create(PREFERRED_REPLICA_ELECTION, b"?"))
    cluster.settle()
    assert PREFERRED_REPLICA_ELECTION not in cluster.tree.znodes
    assert "it is deleted" in cluster.notes[-1]


def test_the_api_elects_preferred_leaders() -> None:
    """KIP-183; ELECTION_NOT_NEEDED where the preferred replica leads (KIP-460)."""
    cluster = led_by_2()
    assert elect(cluster, PREFERRED, ("t", 0), ("gone", 0)) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert elect(cluster, PREFERRED, ("t", 0)) == [ErrorCode.ELECTION_NOT_NEEDED]
    cluster.stop(1)
    assert elect(cluster, PREFERRED, ("t", 0)) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]


def test_the_api_elects_an_unclean_leader_only_without_an_in_sync_one() -> None:
    cluster = led_by_2()
    assert elect(cluster, UNCLEAN, ("t", 0)) == [ErrorCode.ELECTION_NOT_NEEDED]
    cluster.stop(1)
    cluster.stop(2)
    assert elect(cluster, UNCLEAN, ("t", 0)) == [ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE]
    cluster.start(1)
    assert cluster.state("t").leader == -1
    assert elect(cluster, UNCLEAN, ("t", 0)) == [ErrorCode.NONE]
    assert (cluster.state("t").leader, cluster.state("t").isr, cluster.state("t").recovery_state) == (1, (1,), 1)


def test_an_election_for_all_partitions_returns_those_that_needed_one() -> None:
    """KafkaApis: "partitions that didn't need election because they ready have the correct leader are not returned"."""
    cluster = led_by_2()
    cluster.create_topic("u", (3,))
    cluster.create_topic("without a state", (9,))
    response = cluster.request(ElectLeadersRequest(topic_partitions=None), 2)
    assert [each.topic for each in response.replica_election_results] == ["t"]
    assert cluster.request(ElectLeadersRequest(topic_partitions=None), 2).replica_election_results == []


def test_an_unknown_type_of_election_is_refused() -> None:
    cluster = led_by_2()
    cluster.stop(1)
    cluster.stop(2)
    cluster.start(1)
    named = [TopicPartitions(topic="t", partitions=[0])]
    response = cluster.request(ElectLeadersRequest(election_type=2, topic_partitions=named), 2)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST
    assert cluster.state("t").leader == -1


def test_a_topic_that_is_being_deleted_has_no_election() -> None:
    """KafkaController: "The topic is being deleted"."""
    cluster = led_by_2()
    cluster.brokers[2].holds_responses = True
    cluster.tree.create_all([delete_topic_path("t")])
    cluster.settle()
    assert elect(cluster, PREFERRED, ("t", 0)) == [ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_only_the_controller_elects() -> None:
    """KafkaController.processReplicaLeaderElection: the error is that of each partition, and never of the response. An
    election for all has no partitions here, so the handler of the request adds them."""
    cluster = led_by_2()
    for version in (0, 2):
        request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0])])
        response = cluster.request(request, version, broker_id=2)
        assert response.error_code == ErrorCode.NONE
        assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.NOT_CONTROLLER
    request = ElectLeadersRequest(topic_partitions=None)
    assert cluster.request(request, 2, broker_id=2).error_code == ErrorCode.NOT_CONTROLLER


def test_the_controller_balances_leaders_by_itself() -> None:
    """leader.imbalance.per.broker.percentage; the first check comes 5 s after the election."""
    cluster = led_by_2()
    effects = cluster.controller.core.step(0.0, RebalanceDue())
    assert effects.operations
    cluster.perform(cluster.controller, effects)
    cluster.settle()
    assert cluster.state("t").leader == 1
    idle = cluster.controller.core.step(10.0, RebalanceDue())
    assert (idle.operations, idle.deadline) == (None, 310.0)


def test_a_reassignment_keeps_no_leader_from_its_preferred_replica() -> None:
    """KafkaController.checkAndTriggerAutoLeaderRebalance looks at the assignments and the leaders alone. KAFKA-10149
    ("Do not prevent automatic preferred election when reassignment in progress") removed another condition."""
    cluster = led_by_2()
    cluster.create_topic("u", (2,))
    assert reassign(cluster, [3], topic="u") == ErrorCode.NONE
    cluster.step(cluster.controller, RebalanceDue())
    assert (cluster.state("t").leader, cluster.state("u").leader) == (1, 2)
