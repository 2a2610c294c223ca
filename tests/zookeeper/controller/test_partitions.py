"""kraft.zookeeper.controller.partitions, .topics and .brokers: leaders as topics appear and brokers come and go."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.config.listeners import Endpoint
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.zookeeper.controller.active import OPERATIONS_AT_ONCE
from kraft.zookeeper.controller.effects import OperationsPerformed
from kraft.zookeeper.operations import (
    ANY_VERSION,
    Create,
    Failure,
    Multi,
    MultiFailed,
    Operation,
    Result,
    Set,
    Write,
    ZnodeChanged,
)
from kraft.zookeeper.znodes.brokers import BROKER_IDS, BrokerRegistration, broker_path, encode_broker
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.topics import (
    NO_LEADER,
    RECOVERING,
    ReplicaAssignment,
    TopicAssignment,
    decode_topic,
    encode_state,
    encode_topic,
    partition_path,
    partitions_path,
    state_path,
    topic_path,
)
from tests.support.legacy_cluster import LegacyClusterModel
from tests.support.znode_tree import ZnodeTree

UNCLEAN = encode_config({"unclean.leader.election.enable": "true"})


def running(size: int = 3, **settings: object) -> LegacyClusterModel:
    cluster = LegacyClusterModel(size, **settings)
    cluster.start(*range(1, size + 1))
    return cluster


def test_the_first_live_replica_leads_a_new_partition_and_all_live_ones_are_in_sync() -> None:
    """PartitionStateMachine: "assign first live replica as the leader and all live replicas as the isr"."""
    cluster = running()
    cluster.stop(2)
    cluster.create_topic("t", (2, 3, 1), (1, 2))
    first, second = cluster.state("t", 0), cluster.state("t", 1)
    assert (first.leader, first.isr, first.leader_epoch, first.controller_epoch) == (3, (3, 1), 0, 1)
    assert (second.leader, second.isr) == (1, (1,))


def test_replicas_of_a_new_partition_learn_that_it_is_new() -> None:
    cluster = running(2)
    cluster.create_topic("t", (1, 2))
    for broker in cluster.brokers.values():
        *_, request = [each for each in broker.received if isinstance(each.message, LeaderAndIsrRequest)]
        (topic,) = request.message.topic_states
        (state,) = topic.partition_states
        assert (request.version, request.message.broker_epoch) == (7, request.broker_epoch)
        assert (topic.topic_name, topic.topic_id, state.is_new, state.replicas) == ("t", UUID(int=1), True, [1, 2])
        assert [(each.broker_id, each.host_name) for each in request.message.live_leaders] == [(1, "host1")]
        *_, last = broker.received
        assert isinstance(last.message, UpdateMetadataRequest)
        assert last.message.topic_states[0].partition_states[0].leader == 1


def test_a_partition_without_a_live_replica_waits_for_one() -> None:
    cluster = running()
    cluster.stop(3)
    cluster.create_topic("t", (3,))
    assert state_path("t", 0) not in cluster.tree.znodes
    cluster.start(3)
    assert cluster.state("t").leader == 3


def test_a_dead_leader_is_followed_by_an_in_sync_replica() -> None:
    """PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection: the first of the assignment that is live and
    in the ISR."""
    cluster = running()
    cluster.create_topic("t", (1, 2, 3), (2, 1), (3,))
    cluster.stop(2)
    followed, led, other = (cluster.state("t", index) for index in range(3))
    assert (followed.leader, followed.isr, followed.leader_epoch) == (1, (1, 3), 1)
    assert (led.leader, led.isr, led.leader_epoch) == (1, (1,), 1)
    assert (other.leader, other.leader_epoch) == (3, 0)


def test_the_last_in_sync_replica_stays_in_the_isr_of_a_partition_without_leader() -> None:
    """ReplicaStateMachine.doRemoveReplicasFromIsr: "if (leaderAndIsr.isr.size == 1) leaderAndIsr.isr"."""
    cluster = running()
    cluster.create_topic("t", (3,))
    cluster.stop(3)
    state = cluster.state("t")
    assert (state.leader, state.isr, state.leader_epoch) == (NO_LEADER, (3,), 1)
    *_, last = cluster.brokers[1].received
    metadata = last.message.topic_states[0].partition_states[0]
    assert (metadata.leader, metadata.offline_replicas) == (NO_LEADER, [3])
    cluster.start(3)
    assert (cluster.state("t").leader, cluster.state("t").leader_epoch) == (3, 2)


def test_a_new_controller_leaves_no_partition_to_a_leader_that_is_gone() -> None:
    """ReplicaStateMachine.startup makes offline replicas OfflineReplica. The leader epoch must rise before the former
    leader leads again: it may have lost records that its followers have.
    """
    cluster = running(2)
    cluster.create_topic("t", (1, 2))
    cluster.stop(2)
    cluster.start(2)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (1,))
    before = cluster.state("t").leader_epoch
    cluster.expire(1)
    cluster.settle()
    state = cluster.state("t")
    assert (cluster.controller.broker_id, state.leader, state.isr) == (2, NO_LEADER, (1,))
    assert (state.leader_epoch, state.controller_epoch) == (before + 1, 2)
    cluster.start(1)
    assert (cluster.state("t").leader, cluster.state("t").leader_epoch) == (1, before + 2)


def test_only_a_topic_that_allows_it_gets_an_unclean_leader() -> None:
    """KIP-704: an unclean leader is RECOVERING until it says otherwise."""
    cluster = running()
    cluster.tree.put(config_path("topics", "risky"), UNCLEAN)
    cluster.tree.put(config_path("topics", "broken"), b"{")
    for topic in ("safe", "risky", "broken"):
        cluster.create_topic(topic, (3, 2))
    cluster.stop(2)
    cluster.start(2)
    cluster.stop(3)
    assert (cluster.state("safe").leader, cluster.state("safe").isr) == (NO_LEADER, (3,))
    assert cluster.state("broken").leader == NO_LEADER
    risky = cluster.state("risky")
    assert (risky.leader, risky.isr, risky.recovery_state) == (2, (2,), RECOVERING)
    assert any("/config/topics/broken: not JSON" in note for note in cluster.notes)


def test_a_topic_that_begins_to_allow_it_gets_an_unclean_leader_at_once() -> None:
    """Kafka's TopicUncleanLeaderElectionEnable: other topics keep waiting for their in-sync replicas."""
    cluster = without_in_sync_replicas("risky", "safe")
    cluster.tree.put(config_path("topics", "risky"), UNCLEAN)
    cluster.step(cluster.controller, ZnodeChanged(config_path("topics", "risky")))
    assert (cluster.state("risky").leader, cluster.state("safe").leader) == (2, NO_LEADER)


@pytest.mark.parametrize("broker", ["<default>", "1"])
def test_the_default_of_the_controller_may_begin_to_allow_unclean_leaders(broker: str) -> None:
    """Kafka's UncleanLeaderElectionEnable: a dynamic setting of brokers is stronger than the static one, and that of a
    topic is stronger than both.
    """
    cluster = without_in_sync_replicas("risky", "safe")
    cluster.tree.put(config_path("topics", "safe"), UNCLEAN.replace(b"true", b"false"))
    cluster.tree.put(config_path("brokers", broker), UNCLEAN)
    cluster.step(cluster.controller, ZnodeChanged(config_path("brokers", broker)))
    assert (cluster.state("risky").leader, cluster.state("safe").leader) == (2, NO_LEADER)


def without_in_sync_replicas(*topics: str) -> LegacyClusterModel:
    """Broker 2 is up, and broker 3, which alone is in sync, is not."""
    cluster = running()
    for topic in topics:
        cluster.create_topic(topic, (3, 2))
    cluster.stop(2)
    cluster.start(2)
    cluster.stop(3)
    assert {cluster.state(topic).leader for topic in topics} == {NO_LEADER}
    return cluster


def test_a_restarted_broker_has_a_new_epoch_and_gets_every_state_again() -> None:
    """KIP-380: the broker epoch is the czxid of its znode, so a broker that bounced is a new one."""
    cluster = running()
    cluster.create_topic("t", (1, 3))
    broker = cluster.brokers[3]
    first_epoch = broker.received[-1].broker_epoch
    broker.received.clear()
    cluster.tree.expire(broker.session)
    cluster.tree.changed.clear()  # The controller sees only the end of it.
    broker.unanswered.clear()
    broker.incarnation += 1
    data = cluster.tree.data(broker_path(1)).replace(b"host1", b"host3")
    cluster.tree.perform(broker.session, Create(broker_path(3), data, ephemeral=True))
    cluster.tree.changed = [(cluster.controller.session, "/brokers/ids")]
    cluster.settle()
    assert {each.broker_epoch for each in broker.received} == {cluster.tree.znodes[broker_path(3)].created_zxid}
    assert broker.received[0].broker_epoch > first_epoch
    states = [each.message for each in broker.received if isinstance(each.message, LeaderAndIsrRequest)]
    assert states[0].topic_states[0].topic_name == "t"
    assert cluster.state("t").isr == (1,)


def test_a_changed_endpoint_reaches_every_broker() -> None:
    """KIP-291: "by using the endpoints section of the broker info"; the registration is read at each change."""
    cluster = running(2)
    data = cluster.tree.data(broker_path(2)).replace(b"host2", b"moved")
    cluster.tree.perform(None, Set(broker_path(2), data, ANY_VERSION))
    cluster.settle()
    for broker in cluster.brokers.values():
        assert [each.endpoints[0].host for each in broker.received[-1].message.live_brokers] == ["host1", "moved"]


def test_the_control_planes_endpoint_comes_before_that_between_brokers() -> None:
    """KIP-291: "If the config is not set, the controller will fall back to the current behavior and use
    inter-broker-listener-name"."""
    cluster = running(2)
    assert {each.endpoint.listener for each in cluster.brokers[2].received} == {"PLAINTEXT"}
    both = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1), Endpoint("CONTROLLER", "PLAINTEXT", "h", 2))
    cluster.tree.put(broker_path(2), encode_broker(BrokerRegistration(2, both)))
    cluster.settle()
    assert cluster.brokers[2].received[-1].endpoint == both[1]


def test_requests_wait_for_a_broker_without_a_usable_endpoint() -> None:
    cluster = running(2)
    other = (Endpoint("EXTERNAL", "PLAINTEXT", "h", 1),)
    cluster.tree.put(broker_path(2), encode_broker(BrokerRegistration(2, other)))
    cluster.settle()
    cluster.brokers[2].received.clear()
    cluster.create_topic("t", (2, 1))
    assert cluster.brokers[2].received == []
    usable = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)
    cluster.tree.put(broker_path(2), encode_broker(BrokerRegistration(2, usable)))
    cluster.settle()
    assert LeaderAndIsrRequest in {type(each.message) for each in cluster.brokers[2].received}


def test_a_malformed_registration_stops_nobody_else() -> None:
    cluster = running(2)
    cluster.tree.put(broker_path(9), b"{}")
    cluster.settle()
    cluster.create_topic("t", (9, 2))
    assert cluster.state("t").leader == 2
    assert any("broker 9 is ignored until it registers again" in note for note in cluster.notes)


def test_added_partitions_get_leaders_and_old_ones_keep_their_replicas() -> None:
    """KafkaController.processPartitionModifications: only partitions without replicas so far are added."""
    cluster = running()
    cluster.create_topic("t", (1, 2))
    assigned = decode_topic("t", cluster.tree.data(topic_path("t")))
    more = {0: ReplicaAssignment((3,)), 1: ReplicaAssignment((3, 1))}
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(assigned.topic_id, more)))
    cluster.settle()
    assert (cluster.state("t", 1).leader, cluster.state("t", 0).leader_epoch) == (3, 0)
    active = cluster.controller.core.active
    assert active is not None
    assert active.cluster.assignment(("t", 0)) == ReplicaAssignment((1, 2))


def test_a_topic_of_an_old_broker_gets_an_id() -> None:
    """KIP-516: "the controller will generate topic IDs for topics without one"."""
    cluster = running(1)
    cluster.tree.put(topic_path("old"), b'{"version":1,"partitions":{"0":[1]}}')
    cluster.settle()
    assert decode_topic("old", cluster.tree.data(topic_path("old"))).topic_id is not None
    assert cluster.state("old").leader == 1


def test_a_malformed_topic_stops_no_other() -> None:
    cluster = running(1)
    cluster.tree.put(topic_path("bad"), b"[]")
    cluster.create_topic("good", (1,))
    assert cluster.state("good").leader == 1
    assert any("/brokers/topics/bad" in note and "the topic is ignored" in note for note in cluster.notes)


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_topic_whose_id_another_write_hindered_is_taken_in(monkeypatch: pytest.MonkeyPatch, is_lost: bool) -> None:
    """KafkaZkClient.setTopicIds writes with MatchAnyVersion, and the controller keeps every topic. Here the write fails
    if its response was lost, so that the session repeated it, or if another process wrote at the same time."""
    cluster = running()
    cluster.create_topic("t", (2, 3))
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(None, {0: ReplicaAssignment((2, 3))})))
    cluster.settle()
    perform, times = ZnodeTree.perform, iter((True,))

    def hinder(tree: ZnodeTree, session: object, operation: Operation) -> Result:
        is_id = isinstance(operation, Multi) and isinstance(operation.writes[-1], Set)
        if is_id and operation.writes[-1].path == topic_path("t") and next(times, False):
            perform(tree, session, operation) if is_lost else tree.put(topic_path("t"), tree.data(topic_path("t")))
        return perform(tree, session, operation)

    monkeypatch.setattr(ZnodeTree, "perform", hinder)
    cluster.stop(1)
    assert cluster.notes == ["cannot write the id of t: the znode has another version"]
    written = decode_topic("t", cluster.tree.data(topic_path("t")))
    active = cluster.controller.core.active
    assert active is not None
    assert active.cluster.topics["t"].topic_id == written.topic_id
    cluster.stop(2)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))


def test_a_malformed_topic_that_is_repaired_gets_leaders() -> None:
    """``topic_changed``: "A topic that is not known is taken in as a new one"."""
    cluster = running()
    cluster.tree.put(topic_path("t"), b"{")
    cluster.settle()
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(UUID(int=7), {0: ReplicaAssignment((2, 1))})))
    cluster.settle()
    assert cluster.state("t").leader == 2
    before = cluster.tree.watches()
    cluster.step(cluster.controller, ZnodeChanged(topic_path("deleted")))
    assert cluster.tree.watches() == before


def test_a_state_that_another_process_changed_is_read_and_decided_again() -> None:
    """ZkPartitionStateMachine.doElectLeaderForPartitions: "Version conflicts can occur if the partition leader updated
    partition state while the controller attempted to"."""
    cluster = running()
    cluster.create_topic("t", (1, 2, 3))
    state = cluster.state("t")
    shrunk = encode_state(state).replace(b"[1,2,3]", b"[1,3]")
    cluster.tree.perform(None, Set(state_path("t", 0), shrunk, ANY_VERSION))
    cluster.stop(1)
    state = cluster.state("t")
    assert (state.leader, state.isr, state.leader_epoch) == (3, (3,), 1)


def test_a_write_whose_response_was_lost_is_sent_to_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """KafkaController.doRemoveReplicasFromIsr also returns the partitions whose ISR lacks the replica already, so the
    leader gets their state in any case. The client of ZooKeeper repeats a write after a lost connection."""
    cluster = running()
    cluster.create_topic("t", (1, 2, 3))
    perform, repeated = cluster.tree.perform, []

    def perform_twice(session: object, operation: Operation) -> Result:
        result = perform(session, operation)
        if isinstance(operation, Multi) and isinstance(operation.writes[-1], Set):
            result = perform(session, operation)
            repeated.append(result)
        return result

    monkeypatch.setattr(ZnodeTree, "perform", lambda _, *arguments: perform_twice(*arguments))
    cluster.stop(3)
    assert [each.failure for each in repeated if isinstance(each, MultiFailed)] == [Failure.BAD_VERSION]
    state = cluster.state("t")
    assert (state.leader, state.isr, state.leader_epoch) == (1, (1, 2), 1)
    received = [each.message for each in cluster.brokers[1].received]
    *_, request = [each for each in received if isinstance(each, LeaderAndIsrRequest)]
    (sent,) = request.topic_states[0].partition_states
    assert (sent.leader_epoch, sent.isr, sent.partition_epoch) == (1, [1, 2], state.partition_epoch)


def test_a_partition_whose_creation_was_cut_short_is_completed() -> None:
    """The former controller created the partition's znode, and died before it created the state."""
    cluster = LegacyClusterModel(2)
    cluster.tree.put(topic_path("t"), encode_topic(TopicAssignment(UUID(int=5), {0: ReplicaAssignment((2, 1))})))
    cluster.tree.create_all([partitions_path("t"), partition_path("t", 0)])
    cluster.start(1)
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (1,))


def test_brokers_learn_of_the_first_elections_while_the_others_are_decided() -> None:
    """One loop runs the controller and its broker, so a step decides on 500 partitions at most."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    count = 2 * OPERATIONS_AT_ONCE + 1
    cluster.create_topic("t", *[(2, 1)] * count)
    controller, lost = cluster.controller, cluster.brokers[2]
    cluster.tree.expire(lost.session)
    written, elected = 0, []
    effects = controller.core.step(0, ZnodeChanged(BROKER_IDS))
    while effects.operations is not None:
        elected += [written for each in effects.requests if isinstance(each.message, LeaderAndIsrRequest)]
        results = tuple(cluster.tree.perform(controller.session, each) for each in effects.operations)
        assert len(results) <= OPERATIONS_AT_ONCE
        written += sum(isinstance(each, Multi) for each in effects.operations)
        effects = controller.core.step(0, OperationsPerformed(results))
    assert elected == [OPERATIONS_AT_ONCE]
    assert written >= count
    assert {cluster.state("t", index).leader for index in range(count)} == {1}


@pytest.mark.parametrize("end", ["/state", "/partitions"])
def test_a_state_that_zookeeper_refuses_is_written_after_a_pause(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """No watch brings the next look at the partition, so it would have no leader until a broker starts or stops."""
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (2, 3))
    perform = ZnodeTree._multi

    def refuse(tree: ZnodeTree, session: object, writes: tuple[Write, ...]) -> Result:
        refused = any(each.path.endswith(end) for each in writes)
        return Failure.REFUSED if refused else perform(tree, session, writes)

    with monkeypatch.context() as patch:
        patch.setattr(ZnodeTree, "_multi", refuse)
        cluster.stop(2)
        cluster.create_topic("new", (3,), (3,))
        cluster.end_pause()
    assert state_path("new", 0) not in cluster.tree.znodes
    assert "ZooKeeper refused 2 states, first that of new-0; they are written again" in cluster.notes
    cluster.end_pause()
    assert (cluster.state("t").leader, cluster.state("new").leader) == (3, 3)
    assert cluster.repeated == []
