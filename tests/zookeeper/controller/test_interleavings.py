"""The legacy controller while its operations interleave with those of others, with failures and with requests.

The invariants are in ``tests.support.legacy_interleavings``, checked at each operation and each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.zookeeper.controller import active
from kraft.zookeeper.controller.effects import ApiRequest, RebalanceDue
from kraft.zookeeper.operations import Create, Set
from kraft.zookeeper.znodes.admin import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    delete_topic_path,
    encode_preferred_election,
    encode_reassignment,
)
from kraft.zookeeper.znodes.brokers import broker_path
from kraft.zookeeper.znodes.topics import ReplicaAssignment, TopicAssignment, decode_topic, encode_topic, topic_path
from tests.support.legacy_cluster import LegacyBroker
from tests.support.legacy_interleavings import LegacyInterleavings

TOPICS = ("a", "b")
Action = Callable[[LegacyInterleavings, int, int], None]


def advance(cluster: LegacyInterleavings, one: int, other: int) -> None:
    for _ in range(1 + other):
        cluster.advance(one)


def deliver(cluster: LegacyInterleavings, one: int, other: int) -> None:
    cluster.deliver()


def run(cluster: LegacyInterleavings, one: int, other: int) -> None:
    cluster.settle()


def bounce(cluster: LegacyInterleavings, one: int, other: int) -> None:
    """The session expires, if there is one, and the broker registers anew."""
    if cluster.brokers[one].is_up:
        cluster.expire(one)
    cluster.start(one)


def fail(cluster: LegacyInterleavings, one: int, other: int) -> None:
    if cluster.brokers[one].is_up:
        cluster.brokers[one].is_up = False
        cluster.expire(one)


def create_topic(cluster: LegacyInterleavings, one: int, other: int) -> None:
    replicas = tuple(1 + (one + offset) % 3 for offset in range(1 + other))
    data = encode_topic(TopicAssignment(cluster.new_uuid(), {0: ReplicaAssignment(replicas)}))
    cluster.tree.perform(None, Create(topic_path(TOPICS[one % 2]), data))


def add_partition(cluster: LegacyInterleavings, one: int, other: int) -> None:
    topic = TOPICS[one % 2]
    if topic_path(topic) in cluster.tree.znodes:
        known = decode_topic(topic, cluster.tree.data(topic_path(topic)))
        more = {**known.partitions, len(known.partitions): ReplicaAssignment((1 + other % 3,))}
        version = cluster.tree.znodes[topic_path(topic)].version
        cluster.tree.perform(None, Set(topic_path(topic), encode_topic(TopicAssignment(known.topic_id, more)), version))


def delete_topic(cluster: LegacyInterleavings, one: int, other: int) -> None:
    cluster.tree.perform(None, Create(delete_topic_path(TOPICS[one % 2])))


def prefer(cluster: LegacyInterleavings, one: int, other: int) -> None:
    data = encode_preferred_election([(topic, 0) for topic in TOPICS])
    cluster.tree.perform(None, Create(PREFERRED_REPLICA_ELECTION, data))


def reassign(cluster: LegacyInterleavings, one: int, other: int) -> None:
    target = tuple(1 + (one + offset) % 3 for offset in range(1 + other))
    cluster.tree.perform(None, Create(REASSIGN_PARTITIONS, encode_reassignment({(TOPICS[one % 2], 0): target})))


def change_isr(cluster: LegacyInterleavings, one: int, other: int) -> None:
    """The leader proposes all replicas, or itself with one other, to whichever broker is the controller."""
    topic = TOPICS[one % 2]
    if f"{topic_path(topic)}/partitions/0/state" not in cluster.tree.znodes:
        return
    state = cluster.state(topic)
    assigned = decode_topic(topic, cluster.tree.data(topic_path(topic)))
    leader = state.leader
    if leader < 0 or broker_path(leader) not in cluster.tree.znodes:
        return
    isr = assigned.partitions[0].replicas if other else (leader,)
    proposal = PartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each) for each in isr],
    )
    assert assigned.topic_id is not None
    topics = [TopicData(topic_id=assigned.topic_id, partitions=[proposal])]
    request = AlterPartitionRequest(broker_id=leader, broker_epoch=cluster.epoch(leader), topics=topics)
    for broker in cluster.brokers.values():
        cluster.step(broker, ApiRequest(object(), request, 3))


def shut_down(cluster: LegacyInterleavings, one: int, other: int) -> None:
    if broker_path(one) in cluster.tree.znodes:
        request = ControlledShutdownRequest(broker_id=one, broker_epoch=cluster.epoch(one))
        for broker in cluster.brokers.values():
            cluster.step(broker, ApiRequest(object(), request, 3))


def request(cluster: LegacyInterleavings, one: int, other: int) -> None:
    """Change a topic by the API, at whichever broker is the controller."""
    topic, target = TOPICS[one % 2], [1 + (one + offset) % 3 for offset in range(1 + other)]
    known = (
        decode_topic(topic, cluster.tree.data(topic_path(topic))) if topic_path(topic) in cluster.tree.znodes else None
    )
    grown = CreatePartitionsTopic(topic, 2 if known is None else len(known.partitions) + 1, None)
    reassigned = [ReassignableTopic(topic, [ReassignablePartition(0, target)])]
    requests: list[tuple[Any, int]] = [
        (CreateTopicsRequest(topics=[CreatableTopic(topic, 1, len(target))]), 7),
        (CreatePartitionsRequest(topics=[grown]), 3),
        (DeleteTopicsRequest(topics=[DeleteTopicState(topic)]), 6),
        (AlterPartitionReassignmentsRequest(topics=reassigned), 0),
    ]
    message, version = requests[(one + cluster.tree.zxid) % len(requests)]
    for broker in cluster.brokers.values():
        cluster.step(broker, ApiRequest(object(), message, version))


def rebalance(cluster: LegacyInterleavings, one: int, other: int) -> None:
    cluster.step(cluster.brokers[one], RebalanceDue())


ACTIONS: tuple[Action, ...] = (
    *(advance, deliver) * 4,
    *(run, bounce, fail, create_topic, create_topic, add_partition, delete_topic),
    *(prefer, reassign, change_isr, change_isr, shut_down, rebalance, request, request, request),
)
schedules = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(1, 3), st.integers(0, 2)), min_size=20, max_size=80
)


@settings(max_examples=150, deadline=None)
@given(schedules, st.sampled_from([0, active.SLICE_US]))
def test_the_invariants_hold_in_every_interleaving(schedule: list[tuple[Action, int, int]], slice_us: int) -> None:
    """With a slice of 0, a decision pauses wherever it can: after each partition that it examines or sends."""
    with patch.object(active, "SLICE_US", slice_us):
        check_interleaving(schedule)


def check_interleaving(schedule: list[tuple[Action, int, int]]) -> None:
    cluster = LegacyInterleavings(3)
    cluster.start(1, 2, 3)
    for action, one, other in schedule:
        action(cluster, one, other)
    cluster.settle()
    controllers = [broker.core.active for broker in cluster.brokers.values() if broker.core.active is not None]
    stopping = {each for active in controllers for each in active.cluster.shutting_down}
    for broker_id, broker in cluster.brokers.items():
        if not broker.is_up or broker_id in stopping:
            bounce(cluster, broker_id, 0)
            cluster.settle()
    check_settled(cluster)


def check_settled(cluster: LegacyInterleavings) -> None:
    """With all brokers up, every partition has a live leader, and every broker was sent the same."""
    assert sum(broker.core.active is not None for broker in cluster.brokers.values()) == 1
    for topic in TOPICS:
        if topic_path(topic) not in cluster.tree.znodes:
            assert delete_topic_path(topic) not in cluster.tree.znodes
            continue
        assigned = decode_topic(topic, cluster.tree.data(topic_path(topic)))
        is_reassigned = any(each.is_reassigned for each in assigned.partitions.values())
        assert is_reassigned or delete_topic_path(topic) not in cluster.tree.znodes
        if delete_topic_path(topic) in cluster.tree.znodes:
            continue
        for index, assignment in assigned.partitions.items():
            state = cluster.state(topic, index)
            assert state.leader in state.isr
            assert set(state.isr) <= set(assignment.replicas)
            for broker in cluster.brokers.values():
                assert metadata(broker, topic, index) == (state.leader, state.leader_epoch, list(state.isr))


def metadata(broker: LegacyBroker, topic: str, index: int) -> tuple[int, int, list[int]] | None:
    """The last that a broker was sent of a partition's leader."""
    found = None
    for request in broker.received:
        for described in getattr(request.message, "topic_states", ()):
            for state in described.partition_states if described.topic_name == topic else ():
                if state.partition_index == index and hasattr(state, "zk_version"):
                    found = state.leader, state.leader_epoch, state.isr
    return found
