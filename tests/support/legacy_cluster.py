"""Several legacy controllers on one ZooKeeper in memory, and brokers that accept or hold back what they are sent."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import attrs

from kraft.config.listeners import Endpoint
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerRequest,
    BrokerResponded,
    LegacyEffects,
    LegacyEvent,
    OperationsPerformed,
    RoleChanged,
    SessionExpired,
    SessionStarted,
)
from kraft.zookeeper.operations import Create, Get, Operation, Znode, ZnodeChanged
from kraft.zookeeper.znodes.brokers import BrokerRegistration, broker_path, encode_broker
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.topics import (
    PartitionState,
    ReplicaAssignment,
    TopicAssignment,
    decode_state,
    encode_topic,
    state_path,
    topic_path,
)
from tests.support.znode_tree import ZnodeTree


@attrs.define
class LegacyBroker:
    """A broker's session, its controller core, and all the requests that it was sent, in their order."""

    broker_id: int
    core: LegacyController
    is_up: bool = False
    incarnation: int = 0
    holds_responses: bool = False
    received: list[BrokerRequest] = attrs.Factory(list)
    unanswered: list[tuple[LegacyBroker, BrokerRequest]] = attrs.Factory(list)
    respond: Callable[[Any], Any] = attrs.Factory(lambda: response)

    @property
    def session(self) -> tuple[int, int]:
        return self.broker_id, self.incarnation


class LegacyClusterModel:
    """Brokers 1 to ``size``; none is up at first. ``settle`` runs until no event is left."""

    def __init__(self, size: int, **settings: Any) -> None:
        self.tree = ZnodeTree()
        self.tree.create_all(PERSISTENT_PATHS)
        self.now = 0.0
        self.racks: dict[int, str] = {}
        self.responses: dict[object, Any] = {}
        self.notes: list[str] = []
        self.roles: list[RoleChanged] = []
        self.unclean_elections = 0
        self.tolerates_failures = False
        """Unless it is set, an error of a decision that nobody foresaw is raised."""
        self.repeated: list[tuple[LegacyBroker, LegacyEvent]] = []
        """The events that come again after a pause, with the brokers that asked for it."""
        self.operations: list[Operation] = []
        """Of all controllers, in the order in which ZooKeeper performed them."""
        self._uuids = iter(UUID(int=number) for number in range(1, 10_000))
        self.brokers = {
            broker_id: LegacyBroker(
                broker_id, LegacyController(self._config(broker_id, settings), self.new_uuid, random.Random(broker_id))
            )
            for broker_id in range(1, size + 1)
        }

    def new_uuid(self) -> UUID:
        return next(self._uuids)

    def _config(self, broker_id: int, settings: dict[str, Any]) -> LegacyControllerConfig:
        return LegacyControllerConfig(broker_id, "PLAINTEXT", "CONTROLLER", **settings)

    @property
    def controller(self) -> LegacyBroker:
        return next(each for each in self.brokers.values() if each.core.active is not None)

    def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            broker = self.brokers[broker_id]
            broker.is_up, broker.incarnation = True, broker.incarnation + 1
            endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9092)
            data = encode_broker(BrokerRegistration(broker_id, (endpoint,), rack=self.racks.get(broker_id)))
            self.tree.perform(broker.session, Create(broker_path(broker_id), data, ephemeral=True))
            self.step(broker, SessionStarted())
        self.settle()

    def stop(self, *broker_ids: int) -> None:
        """The brokers are gone with their sessions."""
        for broker_id in broker_ids:
            self.brokers[broker_id].is_up = False
            self.expire(broker_id)
        self.settle()

    def expire(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        self.tree.expire(broker.session)
        self.step(broker, SessionExpired())
        broker.unanswered.clear()

    def create_topic(self, topic: str, *replicas: tuple[int, ...]) -> None:
        assigned = {index: ReplicaAssignment(each) for index, each in enumerate(replicas)}
        self.tree.put(topic_path(topic), encode_topic(TopicAssignment(self.new_uuid(), assigned)))
        self.settle()

    def state(self, topic: str, index: int = 0) -> PartitionState:
        node = self.tree.perform(None, Get(state_path(topic, index)))
        assert isinstance(node, Znode)
        return decode_state(topic, index, node.data, node.version)

    def step(self, broker: LegacyBroker, event: LegacyEvent) -> None:
        """One event, with all the rounds of operations that its decision needs."""
        self.perform(broker, broker.core.step(self.now, event))

    def perform(self, broker: LegacyBroker, effects: LegacyEffects) -> None:
        """Perform effects and those that follow, until the decision has ended."""
        while (operations := self._perform(broker, effects)) is not None:
            self.operations += operations
            results = tuple(self.tree.perform(broker.session, each) for each in operations)
            effects = broker.core.step(self.now, OperationsPerformed(results))

    def _perform(self, sender: LegacyBroker, effects: LegacyEffects) -> tuple[Operation, ...] | None:
        self.notes += effects.notes
        self.roles += effects.roles
        self.unclean_elections += effects.unclean_elections
        self.responses.update(effects.responses)
        if effects.failure is not None and not self.tolerates_failures:
            raise effects.failure
        self.repeated += [(sender, each) for each in effects.repeated]
        for request in effects.requests:
            receiver = self.brokers[request.broker_id]
            receiver.received.append(request)
            receiver.unanswered.append((sender, request))
        return effects.operations

    def request(self, message: Any, version: int, broker_id: int | None = None) -> Any:
        """Give a broker, by default the controller, a request; return its response once all has settled."""
        broker = self.controller if broker_id is None else self.brokers[broker_id]
        token = object()
        self.step(broker, ApiRequest(token, message, version))
        self.settle()
        return self.responses.pop(token)

    def epoch(self, broker_id: int) -> int:
        return self.tree.znodes[broker_path(broker_id)].created_zxid

    def settle(self) -> None:
        """Deliver watches and responses until there are none. Some brokers may hold their responses back."""
        while self._deliver():
            pass

    def end_pause(self) -> None:
        """Deliver the events that wait for the end of a pause, and settle."""
        waiting, self.repeated = self.repeated, []
        for broker, event in waiting:
            self.step(broker, event)
        self.settle()

    def _deliver(self) -> bool:
        if self.tree.changed:
            session, path = self.tree.changed.pop(0)
            watcher = next((each for each in self.brokers.values() if each.session == session and each.is_up), None)
            if watcher is not None:
                self.step(watcher, ZnodeChanged(path))
            return True
        for broker in self.brokers.values():
            if broker.unanswered and not broker.holds_responses:
                sender, request = broker.unanswered.pop(0)
                if broker.is_up and sender.is_up:
                    self.step(
                        sender, BrokerResponded(broker.broker_id, request.number, broker.respond(request.message))
                    )
                return True
        return False


def response(message: Any) -> Any:
    """A broker's response without an error."""
    match message:
        case LeaderAndIsrRequest():
            return LeaderAndIsrResponse()
        case UpdateMetadataRequest():
            return UpdateMetadataResponse()
        case StopReplicaRequest():
            return StopReplicaResponse(
                partition_errors=[
                    StopReplicaPartitionError(topic_name=topic.topic_name, partition_index=each.partition_index)
                    for topic in message.topic_states
                    for each in topic.partition_states
                ]
            )
    raise AssertionError(message)
