"""The active controller: its epoch, its view of the cluster, guarded writes, and the requests to brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

import attrs

from kraft.config.listeners import PROTOCOLS, Endpoint
from kraft.controller.context import Randomness
from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from kraft.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.zookeeper.controller.broker_queue import (
    BrokerQueue,
    States,
    Waiting,
    WaitingLeaderAndIsr,
    WaitingStopReplica,
    WaitingUpdateMetadata,
)
from kraft.zookeeper.controller.cluster import LegacyCluster, LiveBroker
from kraft.zookeeper.controller.effects import (
    PAUSE,
    BrokerRequest,
    ControllerMoved,
    LegacyEffects,
    ReadRefused,
    Steps,
)
from kraft.zookeeper.controller.elections import Choice
from kraft.zookeeper.operations import (
    Check,
    ChildNames,
    Children,
    Failure,
    Get,
    Multi,
    MultiFailed,
    Result,
    Set,
    Write,
    Znode,
    ZnodeChanged,
)
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.cluster import BROKER_ENTITIES, DEFAULT_ENTITY, config_path
from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from kraft.zookeeper.znodes.fields import MAX_INTEGER, MalformedZnode
from kraft.zookeeper.znodes.topics import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER,
    PartitionState,
    ReplicaAssignment,
    decode_state,
    encode_state,
    state_path,
)

LEADER_AND_ISR_VERSION, UPDATE_METADATA_VERSION, STOP_REPLICA_VERSION = 7, 8, 4
"""The versions of inter.broker.protocol.version 3.4 and newer."""
MAX_ATTEMPTS = 10
"""The attempts to write a znode that another process changes each time."""
OPERATIONS_AT_ONCE = 500
"""Operations that one effect has at most, and partitions that one step decides on: some 15 ms. Not a Kafka setting."""
SLICE_US = 5_000
"""Not a Kafka setting. A decision pauses after so much work between two operations. The costs are estimates."""
_SENT_US, _QUEUED_US, _EXAMINED_US = 20, 2, 1
UNKNOWN_EPOCH = -1
_EVERY_TOPIC = ZnodeChanged(config_path(BROKER_ENTITIES, DEFAULT_ENTITY))
"""The settings of all brokers: after a change of theirs, every partition without a leader is looked at."""

T = TypeVar("T")


@attrs.frozen
class LegacyControllerConfig:
    """The settings that the controller needs. ``controller_listener`` is control.plane.listener.name, else the listener
    between brokers."""

    broker_id: int
    inter_broker_listener: str
    controller_listener: str
    allows_unclean_elections: bool = False
    deletes_topics: bool = True
    rebalances_leaders: bool = True
    leader_imbalance_percentage: int = 10
    leader_imbalance_check_interval_s: float = 300.0
    num_partitions: int = 1
    default_replication_factor: int = 1
    static_values: Mapping[str, str] = attrs.Factory(dict)
    """The node's own settings, text by Kafka's name."""


class Uuids(Protocol):
    def __call__(self) -> UUID: ...


@attrs.define
class ActiveController:
    """All that lives from the election of this broker to its resignation."""

    config: LegacyControllerConfig
    epoch: int
    epoch_version: int
    """The version of the znode /controller_epoch: every write is conditional on it."""
    new_uuid: Uuids
    random: Randomness
    cluster: LegacyCluster = attrs.Factory(LegacyCluster)
    queues: dict[int, BrokerQueue] = attrs.Factory(dict)
    effects: LegacyEffects = attrs.Factory(LegacyEffects)
    """The effects of the current step."""
    _left_us: int = SLICE_US
    _next_number: int = attrs.field(init=False)

    @_next_number.default
    def _first_number(self) -> int:
        """No response to a request of another epoch has a number of this one."""
        return self.epoch << 32

    # Work in slices.

    def begin_step(self, effects: LegacyEffects) -> None:
        self.effects, self._left_us = effects, SLICE_US

    def spent(self, cost_us: int = _EXAMINED_US) -> bool:
        """Count work on a partition. Return True once the decision must pause: it yields PAUSE."""
        self._left_us -= cost_us
        return self._left_us <= 0

    def partitions(
        self, wanted: Callable[[TopicPartition, ReplicaAssignment], bool], topics: Iterable[str] | None = None
    ) -> Steps[list[TopicPartition]]:
        """Return the wanted ones of the partitions of ``topics``, or of all topics."""
        found: list[TopicPartition] = []
        for name in self.cluster.topics if topics is None else topics:
            topic = self.cluster.topics.get(name)
            for index, assignment in topic.partitions.items() if topic is not None else ():
                partition = name, index
                if wanted(partition, assignment):
                    found.append(partition)
                if self.spent():
                    yield PAUSE
        return found

    def hosted(self, broker_id: int) -> Steps[list[TopicPartition]]:
        """The partitions that have a replica on this broker."""
        return (yield from self.partitions(lambda _, assignment: broker_id in assignment.replicas))

    # What changes ZooKeeper.

    def write(self, writes: Sequence[Write | tuple[Write, ...]]) -> Steps[list[Result]]:
        """Perform each write, or all or none of each tuple of them, unless another controller was elected.

        Raises ControllerMoved if one was. The result of a tuple is that of its last write.
        """
        outcome: list[Result] = []
        for chunk in chunks(writes, OPERATIONS_AT_ONCE):
            check = Check(CONTROLLER_EPOCH, self.epoch_version)
            results = yield tuple(Multi((check, *(each if isinstance(each, tuple) else (each,)))) for each in chunk)
            for result in results:
                if isinstance(result, MultiFailed) and result.index == 0:
                    raise ControllerMoved
                if isinstance(result, MultiFailed):
                    outcome.append(result.failure)
                else:
                    outcome.append(result[-1] if isinstance(result, tuple) else result)
        return outcome

    def read(self, paths: Iterable[str], *, watch: bool = False) -> Steps[list[Znode | None]]:
        """Read each znode; None for one that does not exist. Raises ReadRefused."""
        nodes: list[Znode | None] = []
        for chunk in chunks(tuple(paths), OPERATIONS_AT_ONCE):
            results = yield tuple(Get(path, watch) for path in chunk)
            nodes += [znode_of(path, each) for path, each in zip(chunk, results, strict=True)]
        return nodes

    def children(self, path: str, *, watch: bool = True) -> Steps[tuple[str, ...]]:
        """List the children of a znode; none of one that does not exist. Raises ReadRefused."""
        (result,) = yield (Children(path, watch),)
        if isinstance(result, ChildNames):
            return result.names
        if result is Failure.NO_NODE:
            return ()
        raise ReadRefused(path)

    def read_states(self, partitions: Sequence[TopicPartition]) -> Steps[list[TopicPartition]]:
        """Read the states of these partitions anew; return those that have one.

        A state that is malformed, or that a controller with a higher epoch wrote, is left alone, with a note.
        Raises ReadRefused.
        """
        read = []
        for chunk in chunks(partitions, OPERATIONS_AT_ONCE):
            read += yield from self._read_states(chunk)
        return read

    def _read_states(self, partitions: Sequence[TopicPartition]) -> Steps[list[TopicPartition]]:
        read = []
        nodes = yield from self.read(state_path(*each) for each in partitions)
        for partition, node in zip(partitions, nodes, strict=True):
            try:
                state = None if node is None else decode_state(*partition, node.data, node.version)
            except MalformedZnode as error:
                self.note(f"{error}; the partition keeps its last known state")
                continue
            if state is None:
                self.cluster.states.pop(partition, None)
            elif state.controller_epoch > self.epoch:
                self.note(f"the state of {shown(partition)} is left alone: its controller epoch is higher than ours")
            else:
                self.cluster.states[partition] = state
                read.append(partition)
        return read

    def change(
        self, partitions: Iterable[TopicPartition], choose: Choice
    ) -> Steps[dict[TopicPartition, PartitionState]]:
        """Write the state that ``choose`` returns for each partition; return those that were written.

        A write is conditional on the version of the znode. After another process changed it, ZooKeeper's state is read
        and ``choose`` is asked again. The state may also be the written one, if the response was lost with a connection
        and the write was repeated.
        """
        done: dict[TopicPartition, PartitionState] = {}
        for chunk in chunks(list(partitions), OPERATIONS_AT_ONCE):
            done.update((yield from self._change(chunk, choose)))
        return done

    def _change(
        self, partitions: Sequence[TopicPartition], choose: Choice
    ) -> Steps[dict[TopicPartition, PartitionState]]:
        done: dict[TopicPartition, PartitionState] = {}
        remaining = list(partitions)
        for _ in range(MAX_ATTEMPTS):
            wanted: dict[TopicPartition, PartitionState] = {}
            for partition in remaining:
                state = self.cluster.states.get(partition)
                chosen = None if state is None else choose(self.cluster, partition, state)
                if chosen is not None and chosen.leader_epoch > MAX_INTEGER:
                    self.note(f"no leader epoch is left for {shown(partition)}; its state stays as it is")
                elif chosen is not None:
                    wanted[partition] = attrs.evolve(chosen, controller_epoch=self.epoch)
            results = yield from self.write(
                [Set(state_path(*each), encode_state(state), state.partition_epoch) for each, state in wanted.items()]
            )
            remaining, refused = [], []
            for (partition, state), result in zip(wanted.items(), results, strict=True):
                if isinstance(result, int):
                    done[partition] = attrs.evolve(state, partition_epoch=result)
                    self.cluster.states[partition] = done[partition]
                elif result is Failure.BAD_VERSION:
                    remaining.append(partition)
                elif result is Failure.REFUSED:
                    refused.append(partition)
                else:
                    self.note(f"cannot write the state of {shown(partition)}: {result}")
            self.retry_refused(refused)
            if not remaining:
                return done
            read, remaining = (yield from self.read_states(remaining)), []
            for partition in read:
                state = self.cluster.states[partition]
                if state == attrs.evolve(wanted[partition], partition_epoch=state.partition_epoch):
                    done[partition] = state
                else:
                    remaining.append(partition)
        if remaining:
            self.note(f"the states of {len(remaining)} partitions change all the time; first {shown(remaining[0])}")
        return done

    def retry_refused(self, partitions: Sequence[TopicPartition]) -> None:
        """Bring partitions online again after a pause: ZooKeeper refused to write their states, and no watch would."""
        if partitions:
            first = shown(partitions[0])
            self.note(f"ZooKeeper refused {len(partitions)} states, first that of {first}; they are written again")
            self.effects.repeated.append(_EVERY_TOPIC)

    # Requests to brokers.

    def send_leader_and_isr(
        self, brokers: Iterable[int], partition: TopicPartition, *, is_new: bool = False
    ) -> Steps[None]:
        """Queue the state of a partition for these replicas, and its metadata for every broker."""
        state, assignment = self.cluster.states[partition], self.cluster.assignment(partition)
        assert assignment is not None
        topic, index = partition
        sent = LeaderAndIsrPartitionState(
            partition_index=index,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            partition_epoch=state.partition_epoch,
            replicas=list(assignment.replicas),
            adding_replicas=list(assignment.adding),
            removing_replicas=list(assignment.removing),
            is_new=is_new,
            leader_recovery_state=state.recovery_state,
        )
        for queue in (self.queues[each] for each in brokers if each in self.queues):
            queue.add_leader_and_isr(topic, self.cluster.topics[topic].topic_id, sent)
        yield from self.send_metadata(self.queues, (partition,))

    def send_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()) -> Steps[None]:
        """Queue the live brokers, and the metadata of these partitions as far as they have a state."""
        queues = [self.queues[each] for each in brokers if each in self.queues]
        for queue in queues:
            queue.add_live_brokers()
        for partition in partitions:
            if partition not in self.cluster.states:
                continue
            topic, state = partition[0], self._metadata(partition)
            for queue in queues:
                queue.add_metadata(topic, self.cluster.topics[topic].topic_id, state)
            if self.spent(_SENT_US + _QUEUED_US * len(queues)):
                yield PAUSE

    def send_live_brokers(self, brokers: Iterable[int]) -> None:
        """Queue the live brokers before any LeaderAndIsr: a follower fetches only from brokers that it knows."""
        for queue in (self.queues[each] for each in brokers if each in self.queues):
            queue.add_live_brokers(first=True)

    def send_stop(self, brokers: Iterable[int], partition: TopicPartition, *, deletes: bool) -> None:
        """Queue a StopReplica. While a topic is deleted, its epoch overrides every leader epoch (KIP-570)."""
        topic, index = partition
        state = self.cluster.states.get(partition)
        epoch = UNKNOWN_EPOCH if state is None else state.leader_epoch
        epoch = EPOCH_DURING_DELETE if topic in self.cluster.deletions else epoch
        for queue in (self.queues[each] for each in brokers if each in self.queues):
            stop = StopReplicaPartitionState(partition_index=index, leader_epoch=epoch, delete_partition=deletes)
            queue.add_stop(topic, self.cluster.topics[topic].topic_id, stop)

    def flush(self, now: float) -> Steps[None]:
        """Send each idle broker the next request that waits for it."""
        for broker_id, queue in self.queues.items():
            if not queue.requests:
                continue
            since = queue.waiting_since = now if queue.waiting_since is None else queue.waiting_since
            broker = self.cluster.brokers[broker_id]
            endpoint = self._endpoint(broker)
            waiting = None if queue.in_flight is not None or endpoint is None else queue.take()
            if waiting is None or endpoint is None:
                continue
            message, version = yield from self._message(broker, waiting)
            self._next_number += 1
            queue.in_flight = self._next_number, message
            queue.waiting_since = now if queue.requests else None
            self.effects.requests.append(
                BrokerRequest(broker_id, broker.epoch, endpoint, self._next_number, message, version, now - since)
            )

    def note(self, text: str) -> None:
        self.effects.notes.append(text)

    def _endpoint(self, broker: LiveBroker) -> Endpoint | None:
        """KIP-291: the control plane's endpoint, else that between brokers."""
        registration = broker.registration
        names = self.config.controller_listener, self.config.inter_broker_listener
        return next(filter(None, map(registration.endpoint, names)), None)

    def _metadata(self, partition: TopicPartition) -> UpdateMetadataPartitionState:
        state, assignment = self.cluster.states[partition], self.cluster.assignment(partition)
        assert assignment is not None
        is_deleted = partition[0] in self.cluster.deletions
        return UpdateMetadataPartitionState(
            partition_index=partition[1],
            controller_epoch=state.controller_epoch,
            leader=LEADER_DURING_DELETE if is_deleted else state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            zk_version=state.partition_epoch,
            replicas=list(assignment.replicas),
            offline_replicas=[each for each in assignment.replicas if not self.cluster.is_online(each, partition)],
        )

    def _message(self, broker: LiveBroker, waiting: Waiting) -> Steps[tuple[Any, int]]:
        message: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
        match waiting:
            case WaitingLeaderAndIsr(states):
                leaders = list(self._leaders({state.leader for _, state in states.values()} - {NO_LEADER}))
                message, version = LeaderAndIsrRequest(live_leaders=leaders), LEADER_AND_ISR_VERSION
                message.topic_states = yield from self._by_topic(states, LeaderAndIsrTopicState)
            case WaitingUpdateMetadata(metadata):
                brokers = [_live_broker(each) for each in self.cluster.brokers.values()]
                message, version = UpdateMetadataRequest(live_brokers=brokers), UPDATE_METADATA_VERSION
                message.topic_states = yield from self._by_topic(metadata, UpdateMetadataTopicState)
            case WaitingStopReplica(stops):
                message, version = StopReplicaRequest(), STOP_REPLICA_VERSION
                message.topic_states = yield from self._by_topic(stops, _stopped_topic)
        message.controller_id, message.controller_epoch = self.config.broker_id, self.epoch
        message.broker_epoch = broker.epoch
        return message, version

    def _by_topic(self, states: States[Any], of_topic: Callable[..., Any]) -> Steps[list[Any]]:
        topics: dict[tuple[str, UUID], Any] = {}
        for (topic, _), (topic_id, state) in states.items():
            grouped = topics.get((topic, topic_id))
            if grouped is None:
                grouped = topics[topic, topic_id] = of_topic(topic_name=topic, topic_id=topic_id)
            grouped.partition_states.append(state)
            if self.spent(_QUEUED_US):
                yield PAUSE
        return list(topics.values())

    def _leaders(self, broker_ids: Iterable[int]) -> Iterator[LeaderAndIsrLiveLeader]:
        for broker_id in sorted(broker_ids):
            broker = self.cluster.brokers.get(broker_id)
            endpoint = None if broker is None else broker.registration.endpoint(self.config.inter_broker_listener)
            if endpoint is not None:
                yield LeaderAndIsrLiveLeader(broker_id=broker_id, host_name=endpoint.host, port=endpoint.port)


def _stopped_topic(topic_name: str, topic_id: UUID) -> StopReplicaTopicState:
    return StopReplicaTopicState(topic_name=topic_name)


def _live_broker(broker: LiveBroker) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(
            port=each.port,
            host=each.host,
            listener=each.listener,
            security_protocol=PROTOCOLS.index(each.security_protocol),
        )
        for each in broker.registration.endpoints
    ]
    registration = broker.registration
    return UpdateMetadataBroker(id=registration.broker_id, endpoints=endpoints, rack=registration.rack)


def znode_of(path: str, result: Result) -> Znode | None:
    """Return the result of a Get; None if the znode does not exist. Raises ReadRefused."""
    if isinstance(result, Znode):
        return result
    if result is Failure.NO_NODE:
        return None
    raise ReadRefused(path)


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def shown(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"
