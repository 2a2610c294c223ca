"""The requests that wait for one broker (Kafka's ControllerChannelManager, with a bound).

A broker has one request in flight (KIP-291, footnote 2). Changes that wait are kept for each partition, so that a newer
one replaces an older one: a broker that does not respond costs memory only in proportion to the partitions. The
LeaderAndIsr of a partition goes before its UpdateMetadata, and the deletion of a replica before its next creation. The
metadata of a deleted topic goes before that of the next topic of its name, in a request of its own. A StopReplica waits
for one UpdateMetadata at most.
"""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

import attrs

from kraft.messages.leader_and_isr_request import LeaderAndIsrPartitionState
from kraft.messages.stop_replica_request import StopReplicaPartitionState
from kraft.messages.update_metadata_request import UpdateMetadataPartitionState
from kraft.zookeeper.znodes.admin import TopicPartition

P = TypeVar("P")
States = dict[TopicPartition, tuple[UUID, P]]
"""Partition states, with the ids of their topics."""


@attrs.frozen
class WaitingLeaderAndIsr:
    states: States[LeaderAndIsrPartitionState]


@attrs.frozen
class WaitingUpdateMetadata:
    """Live brokers, and the states of some partitions."""

    states: States[UpdateMetadataPartitionState]


@attrs.frozen
class WaitingStopReplica:
    states: States[StopReplicaPartitionState]


Waiting = WaitingLeaderAndIsr | WaitingUpdateMetadata | WaitingStopReplica


@attrs.define
class BrokerQueue:
    """The changes that wait for one incarnation of a broker. ``in_flight`` is the number and message of its request."""

    broker_epoch: int
    in_flight: tuple[int, Any] | None = None
    waiting_since: float | None = None
    """The time when the oldest change that waits, or that has just been taken, began to wait."""
    _first_stops: States[StopReplicaPartitionState] = attrs.Factory(dict)
    """Deletions before the next creation of the replica, and what waited when an UpdateMetadata was taken."""
    _live_brokers_first: bool = False
    _former_metadata: States[UpdateMetadataPartitionState] = attrs.Factory(dict)
    """The metadata of deleted topics whose names other topics have by now."""
    _leader_and_isr: States[LeaderAndIsrPartitionState] = attrs.Factory(dict)
    _live_brokers: bool = False
    _metadata: States[UpdateMetadataPartitionState] = attrs.Factory(dict)
    _metadata_of: dict[str, tuple[UUID, set[int]]] = attrs.Factory(dict)
    """The topics in ``_metadata``, with their partitions."""
    _stops: States[StopReplicaPartitionState] = attrs.Factory(dict)

    def add_leader_and_isr(self, topic: str, topic_id: UUID, state: LeaderAndIsrPartitionState) -> None:
        partition = topic, state.partition_index
        stop = self._stops.pop(partition, None)
        if stop is not None and stop[1].delete_partition:
            self._first_stops[partition] = stop
            self._leader_and_isr.pop(partition, None)
        waiting = self._leader_and_isr.get(partition)
        if waiting is not None and waiting[1].is_new:
            state = state.evolve(is_new=True)  # other brokers have the same one
        self._leader_and_isr[partition] = topic_id, state

    def add_metadata(self, topic: str, topic_id: UUID, state: UpdateMetadataPartitionState) -> None:
        """Add the state of a partition. The states of an earlier topic of the name, which was deleted, go before it.

        A broker of Apache Kafka needs them: it removes partitions, and not topics. But in one request with the new
        topic, it could take the id of the deleted one.
        """
        known_id, indexes = self._metadata_of.get(topic, (None, set[int]()))
        if known_id != topic_id:
            self._former_metadata |= {(topic, each): self._metadata.pop((topic, each)) for each in indexes}
            indexes = set()
            self._metadata_of[topic] = topic_id, indexes
        indexes.add(state.partition_index)
        self._metadata[topic, state.partition_index] = topic_id, state

    def add_stop(self, topic: str, topic_id: UUID, state: StopReplicaPartitionState) -> None:
        waiting = self._stops.get((topic, state.partition_index))
        if waiting is not None and waiting[1].delete_partition:
            state.delete_partition = True
        self._stops[topic, state.partition_index] = topic_id, state

    def add_live_brokers(self, *, first: bool = False) -> None:
        """Send the live brokers; ``first``: before the next LeaderAndIsr, which may name a broker as leader."""
        if first:
            self._live_brokers_first = True
        else:
            self._live_brokers = True

    @property
    def requests(self) -> int:
        """The number of requests that wait."""
        has_metadata = self._metadata or self._live_brokers
        goes_first = self._former_metadata or self._live_brokers_first
        waiting = (self._first_stops, goes_first, self._leader_and_isr, has_metadata, self._stops)
        return sum(1 for each in waiting if each)

    def take(self) -> Waiting | None:
        """Remove and return the next request's contents; None if nothing waits."""
        if self._first_stops:
            first, self._first_stops = self._first_stops, {}
            return WaitingStopReplica(first)
        if self._former_metadata or self._live_brokers_first:
            former, self._former_metadata, self._live_brokers_first = self._former_metadata, {}, False
            return WaitingUpdateMetadata(former)
        if self._leader_and_isr:
            roles, self._leader_and_isr = self._leader_and_isr, {}
            return WaitingLeaderAndIsr(roles)
        if self._metadata or self._live_brokers:
            metadata, self._metadata, self._metadata_of, self._live_brokers = self._metadata, {}, {}, False
            self._first_stops, self._stops = self._stops, {}
            return WaitingUpdateMetadata(metadata)
        if self._stops:
            stops, self._stops = self._stops, {}
            return WaitingStopReplica(stops)
        return None
