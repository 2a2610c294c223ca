"""The legacy controller's view of the cluster (Kafka's ControllerContext).

It has only what ZooKeeper has confirmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import attrs

from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.brokers import BrokerRegistration
from kraft.zookeeper.znodes.topics import PartitionState, ReplicaAssignment


@attrs.frozen
class LiveBroker:
    """A registered broker. Its epoch is the transaction that created its znode (KIP-380)."""

    registration: BrokerRegistration
    epoch: int


@attrs.define
class LegacyTopic:
    """A topic, its partitions, and the version of its znode."""

    topic_id: UUID
    partitions: dict[int, ReplicaAssignment]
    version: int


@attrs.define
class TopicDeletion:
    """A deletion under way. Replicas are (partition, broker): asked to delete, deleted, or failed."""

    asked: set[tuple[int, int]] = attrs.Factory(set)
    deleted: set[tuple[int, int]] = attrs.Factory(set)
    failed: set[tuple[int, int]] = attrs.Factory(set)
    is_announced: bool = False
    """Whether the brokers learn that the topic has no leaders any more."""


@attrs.define
class LegacyCluster:
    """Brokers, topics, and the state of each partition that has one."""

    brokers: dict[int, LiveBroker] = attrs.Factory(dict)
    shutting_down: set[int] = attrs.Factory(set)
    topics: dict[str, LegacyTopic] = attrs.Factory(dict)
    names: dict[UUID, str] = attrs.Factory(dict)
    """The names of the topics by their ids."""
    states: dict[TopicPartition, PartitionState] = attrs.Factory(dict)
    offline_replicas: dict[int, set[TopicPartition]] = attrs.Factory(dict)
    """For each broker, the partitions whose log directory failed there."""
    deletions: dict[str, TopicDeletion] = attrs.Factory(dict)

    def partitions(self) -> Iterator[tuple[TopicPartition, ReplicaAssignment]]:
        for name, topic in self.topics.items():
            for index, assignment in topic.partitions.items():
                yield (name, index), assignment

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment | None:
        topic = self.topics.get(partition[0])
        return None if topic is None else topic.partitions.get(partition[1])

    def racks(self) -> dict[int, str | None]:
        """The rack of each registered broker."""
        return {broker_id: broker.registration.rack for broker_id, broker in self.brokers.items()}

    def is_live(self, broker_id: int) -> bool:
        """Whether the broker is registered and not in controlled shutdown."""
        return broker_id in self.brokers and broker_id not in self.shutting_down

    def is_online(self, broker_id: int, partition: TopicPartition) -> bool:
        """Whether the replica can lead or be in sync."""
        return self.is_live(broker_id) and partition not in self.offline_replicas.get(broker_id, ())

    def online(self, partition: TopicPartition) -> tuple[int, ...]:
        """The replicas that can lead or be in sync, preferred leader first."""
        assignment = self.assignment(partition)
        replicas = () if assignment is None else assignment.replicas
        return tuple(each for each in replicas if self.is_online(each, partition))

    def is_led(self, partition: TopicPartition) -> bool:
        """Whether the partition has a leader that is online; it may be in controlled shutdown. A new one has none."""
        state = self.states.get(partition)
        if state is None or state.leader not in self.brokers:
            return False
        return partition not in self.offline_replicas.get(state.leader, ())

    def offline_partitions(self) -> int:
        """The partitions that have no leader, or one that is offline. Topics that are being deleted do not count."""
        return sum(each[0] not in self.deletions and not self.is_led(each) for each in self.states)

    def not_preferred(self) -> int:
        """The partitions that another replica leads than the first one. Topics that are being deleted do not count."""
        return sum(
            partition in self.states and self.states[partition].leader != assigned.replicas[0]
            for partition, assigned in self.partitions()
            if assigned.replicas and partition[0] not in self.deletions
        )

    def replicas_to_delete(self) -> int:
        """The replicas of topics that are being deleted whose brokers have not confirmed that yet."""
        return sum(
            len(assigned.replicas) - sum((index, each) in deletion.deleted for each in assigned.replicas)
            for topic, deletion in self.deletions.items()
            for index, assigned in self.topics[topic].partitions.items()
        )

    def add_topic(self, name: str, topic: LegacyTopic) -> None:
        self.topics[name] = topic
        self.names[topic.topic_id] = name

    def forget_topic(self, topic: str) -> None:
        forgotten = self.topics.pop(topic)
        self.names.pop(forgotten.topic_id, None)
        for index in forgotten.partitions:
            self.states.pop((topic, index), None)
            for offline in self.offline_replicas.values():
                offline.discard((topic, index))
        self.deletions.pop(topic, None)
