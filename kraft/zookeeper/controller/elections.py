"""The choice of leaders: pure functions from a partition's state to its next one, or None if no replica can lead.

They are the strategies of Kafka's PartitionLeaderElectionAlgorithms. Each next state has a higher leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import attrs

from kraft.zookeeper.controller.cluster import LegacyCluster
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.topics import NO_LEADER, RECOVERING, PartitionState

Choice = Callable[[LegacyCluster, TopicPartition, PartitionState], PartitionState | None]


def offline(unclean_topics: Collection[str]) -> Choice:
    """The first online replica of the ISR leads. In ``unclean_topics`` any online replica may, alone in its ISR."""

    def choose(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
        online = cluster.online(partition)
        leader = next((each for each in online if each in state.isr), None)
        if leader is not None:
            return led_by(state, leader, tuple(each for each in state.isr if each in online))
        if not online or partition[0] not in unclean_topics:
            return None
        return attrs.evolve(led_by(state, online[0], (online[0],)), recovery_state=RECOVERING)

    return choose


def preferred(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
    """The first replica of the assignment leads, if it is online and in sync."""
    assignment = cluster.assignment(partition)
    if assignment is None or not assignment.replicas:
        return None
    first = assignment.replicas[0]
    if first not in state.isr or not cluster.is_online(first, partition):
        return None
    return led_by(state, first, state.isr)


def controlled_shutdown(
    cluster: LegacyCluster, partition: TopicPartition, state: PartitionState
) -> PartitionState | None:
    """Another online replica of the ISR leads, and the brokers in controlled shutdown leave the ISR."""
    leader = next((each for each in cluster.online(partition) if each in state.isr), None)
    if leader is None:
        return None
    return led_by(state, leader, tuple(each for each in state.isr if each not in cluster.shutting_down))


def reassigned(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
    """The leader stays if it is a target replica and online; else the first one that is online and in sync leads."""
    assignment = cluster.assignment(partition)
    target = () if assignment is None else assignment.target
    able = [each for each in target if each in state.isr and cluster.is_online(each, partition)]
    if not able:
        return None
    return led_by(state, state.leader if state.leader in able else able[0], state.isr)


def without(broker_id: int) -> Choice:
    """The broker leaves the ISR, unless it is its last member; a partition that it led has no leader then."""

    def choose(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
        if broker_id not in state.isr and state.leader != broker_id:
            return None
        isr = tuple(each for each in state.isr if each != broker_id) or state.isr
        return led_by(state, NO_LEADER if state.leader == broker_id else state.leader, isr)

    return choose


def assigned(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState:
    """The leader stays if it is a replica and online; else the first one that is online and in sync leads, if any is.

    The higher leader epoch makes the replicas take a new assignment.
    """
    able = [each for each in cluster.online(partition) if each in state.isr]
    return led_by(state, state.leader if state.leader in able or not able else able[0], state.isr)


def led_by(state: PartitionState, leader: int, isr: tuple[int, ...]) -> PartitionState:
    return attrs.evolve(state, leader=leader, isr=isr, leader_epoch=state.leader_epoch + 1)
