"""kraft.zookeeper.controller.reassignment."""

from __future__ import annotations

from uuid import UUID

import attrs
import pytest

from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller import reassignment, topics
from kraft.zookeeper.controller.active import SLICE_US
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller.effects import PAUSE, ApiRequest, LegacyEffects, LegacyEvent, OperationsPerformed
from kraft.zookeeper.operations import ANY_VERSION, Create, Multi, Set
from kraft.zookeeper.znodes.admin import REASSIGN_PARTITIONS, decode_reassignment, encode_reassignment
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.topics import (
    RECOVERING,
    ReplicaAssignment,
    TopicAssignment,
    decode_topic,
    encode_state,
    encode_topic,
    state_path,
    topic_path,
)
from tests.support.legacy_cluster import LegacyClusterModel
from tests.zookeeper.controller.test_alter_partition import propose


def running() -> LegacyClusterModel:
    cluster = LegacyClusterModel(4)
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", (1, 2))
    return cluster


def reassign(cluster: LegacyClusterModel, replicas: list[int] | None, topic: str = "t") -> int:
    named = [ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=replicas)])]
    response = cluster.request(AlterPartitionReassignmentsRequest(topics=named), 0)
    return int(response.responses[0].partitions[0].error_code)


def assigned(cluster: LegacyClusterModel) -> ReplicaAssignment:
    return decode_topic("t", cluster.tree.data(topic_path("t"))).partitions[0]


def test_a_reassignment_adds_first_and_removes_when_all_are_in_sync() -> None:
    """KafkaController.onPartitionReassignment, the table of RS, AR, RR, leader and ISR."""
    cluster = running()
    assert reassign(cluster, [3, 4]) == ErrorCode.NONE
    assert assigned(cluster) == ReplicaAssignment((3, 4, 1, 2), (3, 4), (1, 2))
    first = cluster.state("t")
    assert (first.leader, first.isr, first.leader_epoch) == (1, (1, 2), 1)
    received = [each.message for each in cluster.brokers[3].received]
    *_, request = [each for each in received if isinstance(each, LeaderAndIsrRequest)]
    (state,) = request.topic_states[0].partition_states
    assert (state.is_new, state.adding_replicas, state.removing_replicas) == (True, [3, 4], [1, 2])
    listed = cluster.request(ListPartitionReassignmentsRequest(), 0)
    assert listed.topics[0].partitions[0].adding_replicas == [3, 4]

    propose(cluster, 1, 2, 3, 4)
    assert assigned(cluster) == ReplicaAssignment((3, 4))
    last = cluster.state("t")
    assert (last.leader, last.isr) == (3, (3, 4))
    for broker_id in (1, 2):
        stop = cluster.brokers[broker_id].received[-1].message
        assert isinstance(stop, StopReplicaRequest)
        assert stop.topic_states[0].partition_states[0].delete_partition
    assert cluster.request(ListPartitionReassignmentsRequest(), 0).topics == []


def test_the_leader_stays_if_it_is_a_target() -> None:
    cluster = running()
    assert reassign(cluster, [3, 1]) == ErrorCode.NONE
    propose(cluster, 1, 2, 3)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (1, 3))


@pytest.mark.parametrize(("target", "in_sync", "epoch"), [([3, 4], (1, 2, 3, 4), 4), ([3, 1], (1, 2, 3), 3)])
def test_the_leader_epoch_rises_for_each_phase(target: list[int], in_sync: tuple[int, ...], epoch: int) -> None:
    """onPartitionReassignment: A1 (new assignment) and B3 (leader in TRS) raise it once each, also if the leader stays.
    B4 raises it for each removed replica that was in sync. The other replicas get each state, the removed one stops."""
    cluster = running()
    reassign(cluster, target)
    propose(cluster, *in_sync)
    assert cluster.state("t").leader_epoch == epoch
    received = [each.message for each in cluster.brokers[3].received]
    *_, request = [each for each in received if isinstance(each, LeaderAndIsrRequest)]
    (state,) = request.topic_states[0].partition_states
    assert (state.leader_epoch, set(state.isr), set(state.replicas)) == (epoch, set(target), set(target))
    stop = cluster.brokers[2].received[-1].message
    assert isinstance(stop, StopReplicaRequest)
    assert stop.topic_states[0].partition_states[0].leader_epoch == epoch


def test_a_cancelled_reassignment_stops_what_it_added() -> None:
    cluster = running()
    assert reassign(cluster, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    reassign(cluster, [3, 1])
    assert reassign(cluster, None) == ErrorCode.NONE
    assert set(assigned(cluster).replicas) == {1, 2}
    assert not assigned(cluster).is_reassigned
    (stop,) = [each.message for each in cluster.brokers[3].received if isinstance(each.message, StopReplicaRequest)]
    assert stop.topic_states[0].partition_states[0].delete_partition


@pytest.mark.parametrize("target", [None, [4, 1]])
def test_another_replica_leads_if_the_leader_was_added_and_is_stopped(target: list[int] | None) -> None:
    """KafkaController.moveReassignedPartitionLeaderIfRequired, for a cancelled reassignment: "move the leader to one of
    the alive and caught up new replicas"."""
    cluster = running()
    reassign(cluster, [3, 4])
    propose(cluster, 1, 2, 3)
    named = [TopicPartitions(topic="t", partitions=[0])]
    cluster.request(ElectLeadersRequest(election_type=0, topic_partitions=named), 2)
    assert cluster.state("t").leader == 3
    assert reassign(cluster, target) == ErrorCode.NONE
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (1, 2))
    received = [each.message for each in cluster.brokers[1].received]
    *_, request = [each for each in received if isinstance(each, LeaderAndIsrRequest)]
    (state,) = request.topic_states[0].partition_states
    assert (state.leader, state.leader_epoch) == (1, cluster.state("t").leader_epoch)


def only_3_in_sync() -> LegacyClusterModel:
    """The partition was on brokers 1 and 2, which are down, and is on its way to 3 and 4."""
    cluster = running()
    reassign(cluster, [3, 4])
    propose(cluster, 1, 2, 3)
    cluster.stop(1)
    cluster.stop(2)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))
    return cluster


@pytest.mark.parametrize("target", [None, [1, 2], [1, 4], [4]])
def test_the_only_replica_in_sync_is_not_deleted(target: list[int] | None) -> None:
    """ReplicationControlManager.cancelPartitionReassignment of KRaft: "it would require an unclean leader election".
    The same holds for another target without that replica."""
    cluster = only_3_in_sync()
    cluster.start(1)
    before = assigned(cluster), cluster.state("t")
    named = [ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=target)])]
    response = cluster.request(AlterPartitionReassignmentsRequest(topics=named), 0).responses[0].partitions[0]
    assert response.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert response.error_message == (
        "Unable to revert partition assignment for t:0 because it would require an unclean leader election."
    )
    assert (assigned(cluster), cluster.state("t")) == before
    assert not any(isinstance(each.message, StopReplicaRequest) for each in cluster.brokers[3].received)


def test_the_only_replica_in_sync_is_not_deleted_for_a_tool() -> None:
    """``_check_in_sync``, for a target in /admin/reassign_partitions."""
    cluster = only_3_in_sync()
    cluster.start(1)
    before = assigned(cluster), cluster.state("t")
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment({("t", 0): (1, 4)})))
    cluster.settle()
    assert (assigned(cluster), cluster.state("t")) == before
    assert "it would require an unclean leader election" in cluster.notes[-1]
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes


def test_a_topic_that_allows_unclean_leaders_may_lose_its_only_replica_in_sync() -> None:
    """KRaft's PartitionReassignmentRevert.unclean: another replica leads, alone in the ISR."""
    cluster = only_3_in_sync()
    cluster.start(1)
    cluster.tree.put(config_path("topics", "t"), encode_config({"unclean.leader.election.enable": "true"}))
    assert reassign(cluster, None) == ErrorCode.NONE
    assert (cluster.state("t").leader, cluster.state("t").isr, cluster.unclean_elections) == (1, (1,), 1)
    assert cluster.state("t").recovery_state == RECOVERING


def test_a_tool_reassigns_by_a_znode_which_stays_until_the_end() -> None:
    """/admin/reassign_partitions: the controller removes partitions from it as they complete."""
    cluster = running()
    targets = {("t", 0): (3, 1), ("gone", 0): (1,)}
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment(targets)))
    cluster.settle()
    assert decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS)) == {("t", 0): (3, 1)}
    assert assigned(cluster).adding == (3,)
    propose(cluster, 1, 2, 3)
    assert assigned(cluster) == ReplicaAssignment((3, 1))
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, b"?"))
    cluster.settle()
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes


def test_a_new_controller_completes_a_reassignment() -> None:
    cluster = running()
    reassign(cluster, [3, 4])
    cluster.stop(1)
    assert cluster.controller.broker_id != 1
    assert cluster.state("t").leader == 2
    propose(cluster, 2, 3, 4, leader=2)
    assert assigned(cluster) == ReplicaAssignment((3, 4))
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3, 4))


def test_bad_targets_are_refused() -> None:
    """KafkaController.validateReplicas."""
    cluster = running()
    cluster.stop(4)
    for replicas in ([], [1, 1], [-1], [1, 4], [9]):
        assert reassign(cluster, replicas) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(cluster, [1], topic="gone") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reassign(cluster, [], topic="gone") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(cluster, [9], topic="gone") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(cluster, None, topic="gone") == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert assigned(cluster) == ReplicaAssignment((1, 2))


def test_a_topic_is_not_deleted_while_it_is_reassigned() -> None:
    """TopicDeletionManager 3.2: "partition reassignment for partitions of that topic is in progress". A cancellation
    ends that. No replica responds to it here, because the only one that it stops is down."""
    cluster = running()
    reassign(cluster, [1, 3])
    cluster.stop(3)
    cluster.tree.create_all(["/admin/delete_topics/t"])
    cluster.settle()
    assert topic_path("t") in cluster.tree.znodes
    assert reassign(cluster, None) == ErrorCode.NONE
    assert topic_path("t") not in cluster.tree.znodes


def test_a_topic_is_deleted_when_a_tool_brings_its_reassignment_to_an_end() -> None:
    """TopicDeletionManager.resumeDeletionForTopics, as at the end of KafkaController.onPartitionReassignment."""
    cluster = running()
    reassign(cluster, [1, 3])
    cluster.stop(2)
    cluster.tree.create_all(["/admin/delete_topics/t"])
    cluster.settle()
    assert topic_path("t") in cluster.tree.znodes
    active = cluster.controller.core.active
    assert active is not None
    active.cluster.states["t", 0] = attrs.evolve(cluster.state("t"), isr=(1, 3))
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment({("t", 0): (1, 3)})))
    cluster.settle()
    assert topic_path("t") not in cluster.tree.znodes


@pytest.mark.parametrize("wanted", [[4, 1], None])
def test_the_api_takes_a_partition_over_from_the_znode(wanted: list[int] | None) -> None:
    """KafkaController: "The latest reassignment (whether by API or through zk) always takes precedence, so remove from
    active zk reassignment"."""
    cluster = running()
    cluster.create_topic("u", (1, 2))
    targets = {("t", 0): (3, 1), ("u", 0): (3, 1)}
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment(targets)))
    cluster.settle()
    assert reassign(cluster, wanted) == ErrorCode.NONE
    assert decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS)) == {("u", 0): (3, 1)}
    before = assigned(cluster)
    propose(cluster, 1, 2, 3, topic=("u", UUID(int=2)))
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes
    assert assigned(cluster) == before
    assert before.adding == ((4,) if wanted else ())


def begun_by_a_tool(*topics: str) -> LegacyClusterModel:
    """Each of the topics, which are new, is on its way from brokers 1 and 2 to brokers 1 and 3."""
    cluster = LegacyClusterModel(4)
    cluster.start(4, 1, 2, 3)
    for topic in topics:
        cluster.create_topic(topic, (1, 2))
    targets = {(topic, 0): (1, 3) for topic in topics}
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment(targets)))
    cluster.settle()
    assert decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS)) == targets
    return cluster


def test_the_end_of_one_reassignment_decides_on_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """onPartitionReassignment, B7: "update the /admin/reassign_partitions path in ZK to remove this partition from it".
    The others are as they were, so no topic is encoded, and the look at many of them pauses."""
    topics_of_tool = [f"t{number}" for number in range(30)]
    cluster = begun_by_a_tool("t", *topics_of_tool)
    encoded, pauses, step = list[UUID](), 0, LegacyController.step

    def note(topic_id: UUID, partitions: object) -> bool:
        encoded.append(topic_id)
        return True

    def count(core: LegacyController, now: float, event: LegacyEvent) -> LegacyEffects:
        nonlocal pauses
        effects = step(core, now, event)
        pauses += effects.operations == PAUSE
        return effects

    monkeypatch.setattr(reassignment, "fits", note)
    monkeypatch.setattr(reassignment, "_COMPARED_US", SLICE_US // 10)
    monkeypatch.setattr(LegacyController, "step", count)
    propose(cluster, 1, 2, 3)
    assert assigned(cluster) == ReplicaAssignment((1, 3))
    assert set(decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS))) == {(topic, 0) for topic in topics_of_tool}
    assert not encoded
    assert pauses >= 2


def test_a_new_controller_keeps_a_reassignment_whose_new_replica_is_down() -> None:
    """KafkaController.processZkPartitionReassignment: only a partition whose reassignment failed leaves the znode."""
    cluster = begun_by_a_tool("t")
    cluster.stop(3)
    cluster.stop(4)
    assert decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS)) == {("t", 0): (1, 3)}
    assert assigned(cluster).adding == (3,)
    cluster.start(3)
    propose(cluster, 1, 2, 3)
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes


def test_a_reassignment_that_a_start_completes_leaves_the_znode() -> None:
    """The leader, of a version without AlterPartition, wrote the ISR, and the controller sees it with its own write."""
    cluster = begun_by_a_tool("t")
    grown = encode_state(attrs.evolve(cluster.state("t"), isr=(1, 2, 3)))
    cluster.tree.perform(None, Set(state_path("t", 0), grown, ANY_VERSION))
    cluster.stop(2)
    assert assigned(cluster).is_reassigned
    cluster.start(2)
    assert assigned(cluster) == ReplicaAssignment((1, 3))
    assert REASSIGN_PARTITIONS not in cluster.tree.znodes


@pytest.mark.parametrize("wanted", [None, [1, 4]])
def test_a_reassignment_without_a_known_state_waits(wanted: list[int] | None) -> None:
    """The state is left alone, because a controller with a higher epoch wrote it."""
    cluster = running()
    reassign(cluster, [1, 3])
    other = encode_state(attrs.evolve(cluster.state("t"), controller_epoch=99))
    cluster.tree.perform(None, Set(state_path("t", 0), other, ANY_VERSION))
    cluster.stop(1)
    znode = cluster.tree.znodes[topic_path("t")]
    cluster.tree.perform(None, Set(topic_path("t"), znode.data, znode.version))
    cluster.settle()
    assert assigned(cluster).adding == (3,)
    cluster.start(1)
    assert reassign(cluster, wanted) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if wanted else ErrorCode.NONE)
    cluster.create_topic("u", (2,))
    assert cluster.state("u").leader == 2


def test_a_refused_reassignment_leaves_the_znode() -> None:
    cluster = running()
    targets = {("t", 0): (3, 1)}
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment(targets)))
    cluster.settle()
    assert reassign(cluster, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert decode_reassignment(cluster.tree.data(REASSIGN_PARTITIONS)) == targets


def test_the_last_of_two_targets_in_a_request_counts() -> None:
    """KafkaApis makes a map of the request's partitions."""
    cluster = running()
    twice = [ReassignablePartition(partition_index=0, replicas=each) for each in ([3, 1], [4, 1])]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=twice)])
    (topic,) = cluster.request(request, 0).responses
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, ErrorCode.NONE)]
    assert (assigned(cluster).adding, assigned(cluster).target) == ((4,), (4, 1))


def test_partitions_that_a_tool_adds_at_the_same_time_stay() -> None:
    """The write is conditional on the version of the topic's znode, and repeated with what the tool wrote."""
    cluster = running()
    controller, token = cluster.controller, object()
    named = [ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=[3, 1])])]
    effects = controller.core.step(0.0, ApiRequest(token, AlterPartitionReassignmentsRequest(topics=named), 0))
    while not any(isinstance(each, Multi) for each in effects.operations):
        results = tuple(cluster.tree.perform(controller.session, each) for each in effects.operations)
        effects = controller.core.step(0.0, OperationsPerformed(results))
    known = decode_topic("t", cluster.tree.data(topic_path("t")))
    more = {**known.partitions, 1: ReplicaAssignment((4, 1))}
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(known.topic_id, more)))
    cluster.perform(controller, effects)
    cluster.settle()
    assert cluster.responses[token].responses[0].partitions[0].error_code == ErrorCode.NONE
    assert assigned(cluster).adding == (3,)
    assert decode_topic("t", cluster.tree.data(topic_path("t"))).partitions[1] == ReplicaAssignment((4, 1))
    assert cluster.state("t", 1).leader == 4


def test_a_reassignment_never_makes_a_znode_that_zookeeper_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of more than jute.maxbuffer ends the connection, so it would be repeated for ever."""
    cluster = running()
    before = cluster.tree.data(topic_path("t"))
    monkeypatch.setattr(topics, "MAX_ZNODE_BYTES", len(before))
    assert reassign(cluster, [3, 4]) == ErrorCode.POLICY_VIOLATION
    assert cluster.tree.data(topic_path("t")) == before
    assert reassign(cluster, [2, 1]) == ErrorCode.NONE
