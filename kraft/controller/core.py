"""The active controller: one object that lives as long as its node leads the quorum.

``step(now, event) -> Decision`` decides. The driver passes the records to ``replay`` and appends them before the
next decision, so every decision is based on the ones before it, committed or not. The driver responds only when the
records, and all before them, are committed. ``step`` itself changes sessions and transitions: they are not in the log,
and end with this object.

``decide_in_steps`` and ``replay_in_steps`` do the same with pauses for other tasks. No other decision may begin
meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from kraft.controller.alter_configs import alter_configs, incremental_alter_configs
from kraft.controller.alter_partition import alter_partition
from kraft.controller.broker_transitions import BrokerTransitions, Goal
from kraft.controller.change_topics import create_partitions, delete_topics
from kraft.controller.cluster import activation_records, allocate_producer_ids, register_controller
from kraft.controller.context import Context, ControllerConfig, Decision, Randomness
from kraft.controller.create_topics import create_topics
from kraft.controller.directories import assign_replicas_to_dirs
from kraft.controller.elect_leaders import elect_leaders
from kraft.controller.elections import final_records, next_records
from kraft.controller.features import update_features
from kraft.controller.heartbeats import broker_heartbeat
from kraft.controller.reassignment import alter_partition_reassignments, list_partition_reassignments
from kraft.controller.registration import register_broker, unregister_broker
from kraft.controller.sessions import Sessions
from kraft.controller.upkeep import Upkeep
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.update_features_request import UpdateFeaturesRequest
from kraft.metadata.image import Broker, Image
from kraft.metadata.loader import Loader
from kraft.metadata.steps import Steps, finished
from kraft.wire.schema import Message

HANDLERS: dict[type, Callable[[Context, Any], Decision]] = {
    AllocateProducerIdsRequest: allocate_producer_ids,
    BrokerHeartbeatRequest: broker_heartbeat,
    BrokerRegistrationRequest: register_broker,
    ControllerRegistrationRequest: register_controller,
    UnregisterBrokerRequest: unregister_broker,
    UpdateFeaturesRequest: update_features,
}
"""Decisions in one step. They examine ``partitions_at_once`` partitions at most, and may change sessions and
transitions. One that raises KafkaError has changed nothing.
"""

HANDLERS_IN_STEPS: dict[type, Callable[[Context, Any], Steps[Decision]]] = {
    AlterConfigsRequest: alter_configs,
    AlterPartitionReassignmentsRequest: alter_partition_reassignments,
    AlterPartitionRequest: alter_partition,
    AssignReplicasToDirsRequest: assign_replicas_to_dirs,
    CreatePartitionsRequest: create_partitions,
    CreateTopicsRequest: create_topics,
    DeleteTopicsRequest: delete_topics,
    ElectLeadersRequest: elect_leaders,
    IncrementalAlterConfigsRequest: incremental_alter_configs,
    ListPartitionReassignmentsRequest: list_partition_reassignments,
}
"""Decisions that are as large as their request. They change nothing, so a driver may drop them between two steps."""


@attrs.frozen
class Activated:
    """The node leads the quorum. ``bootstrap`` are the first records of a log that has no metadata yet."""

    bootstrap: tuple[Message, ...]


@attrs.frozen
class ControllerRequest:
    """A request in the given version of its API."""

    message: Message
    version: int


@attrs.frozen
class DeadlineReached:
    """``deadline`` has passed: continue an unfinished decision, or do the next work that is due."""


Event = Activated | ControllerRequest | DeadlineReached


class ControllerCore:
    """The active controller of the cluster.

    ``loader`` has replayed the log to its end, ``next_offset``. ``new_uuid`` and ``random`` are its only sources of
    randomness. Times are seconds on the caller's clock.
    """

    def __init__(
        self,
        config: ControllerConfig,
        loader: Loader,
        next_offset: int,
        new_uuid: Callable[[], UUID],
        random: Randomness,
        now: float,
    ) -> None:
        self.config = config
        self._loader = loader
        self._next_offset = next_offset
        self._new_uuid = new_uuid
        self._random = random
        self._sessions = Sessions(config.broker_session_timeout_s)
        for broker in loader.image.brokers.values():
            if not broker.fenced:
                self._sessions.touch(broker.id, broker.epoch, -1, False, now)
        self._transitions = BrokerTransitions()
        self._upkeep = Upkeep(config, now)
        self._active_of: object = None
        self._active_brokers: frozenset[int] = frozenset()

    @property
    def image(self) -> Image:
        """The metadata with every appended record, committed or not. For decisions, not for responses."""
        return self._loader.image

    @property
    def deadline(self) -> float:
        """The time of the next DeadlineReached: infinity for never, minus infinity for right after other tasks."""
        if any(self._transitions):
            return -math.inf
        return min(self._sessions.next_deadline(), self._upkeep.deadline(self.image))

    def step(self, now: float, event: Event) -> Decision:
        """Decide on one event. Raises KeyError for a request that no handler takes."""
        return finished(self.decide_in_steps(now, event))

    def decide_in_steps(self, now: float, event: Event) -> Steps[Decision]:
        """Do the same as :meth:`step`, in steps if the event is a request of HANDLERS_IN_STEPS."""
        self._upkeep.skip(now, self.image)
        match event:
            case Activated(bootstrap):
                context = attrs.evolve(self._context(now), image=self._loader.settled())
                return Decision(activation_records(context, self._loader.in_transaction, bootstrap), None)
            case ControllerRequest(message, version):
                context = self._context(now, version)
                if type(message) in HANDLERS_IN_STEPS:
                    return (yield from HANDLERS_IN_STEPS[type(message)](context, message))
                return HANDLERS[type(message)](context, message)
            case DeadlineReached():
                return Decision(self._due(now), None)

    def note_waiting(self, now: float, message: Message) -> None:
        """Note a request that waits for the end of another decision.

        A heartbeat renews its session at once, so that no broker is fenced because the controller is busy (as in
        Kafka's BrokerHeartbeatTracker).
        """
        if isinstance(message, BrokerHeartbeatRequest):
            self._sessions.renew(message.broker_id, message.broker_epoch, now)

    def replay(self, records: Sequence[Message], next_offset: int, epoch: int, timestamp_ms: int) -> None:
        """Replay the records of a decision; the log will end at ``next_offset``."""
        finished(self.replay_in_steps(records, next_offset, epoch, timestamp_ms))

    def replay_in_steps(
        self, records: Sequence[Message], next_offset: int, epoch: int, timestamp_ms: int
    ) -> Steps[None]:
        """Do the same as :meth:`replay`, in steps. Everything changes with the last one."""
        yield from self._loader.load_in_steps(records, next_offset - 1, epoch, timestamp_ms)
        self._next_offset = next_offset
        self._upkeep.replayed(records)

    def _due(self, now: float) -> tuple[Message, ...]:
        """The next records that are due: expired sessions first, the longest expired before the others.

        One broker at a time is fenced, as in Kafka: meanwhile the heartbeats of the others renew their sessions. All
        have expired if this process stood still for longer than a session.
        """
        is_fencing = any(transition.goal is Goal.FENCED for transition in self._transitions)
        for broker_id in () if is_fencing else self._sessions.expired(now)[:1]:
            self._sessions.forget(broker_id)
            broker = self.image.brokers.get(broker_id)
            if broker is not None and not broker.fenced:
                self._transitions.begin(self.image, broker, Goal.FENCED)
        context = self._context(now)
        for transition in self._transitions:
            records = next_records(context, transition)
            if transition.walk.finished:
                records += final_records(context, transition, self._next_offset + len(records))
            return tuple(records)
        return self._upkeep.do(context)

    def _foreseen(self) -> Image:
        image = self.image
        if not any(self._transitions):
            return image
        return attrs.evolve(image, brokers=self._transitions.foreseen(image.brokers))

    def _active(self, brokers: Map[int, Broker]) -> frozenset[int]:
        if brokers is not self._active_of:
            self._active_of = brokers
            self._active_brokers = frozenset(broker.id for broker in brokers.values() if broker.active)
        return self._active_brokers

    def _context(self, now: float, version: int = 0) -> Context:
        image = self._foreseen()
        return Context(
            config=self.config,
            image=image,
            active=self._active(image.brokers),
            sessions=self._sessions,
            transitions=self._transitions,
            next_offset=self._next_offset,
            now=now,
            version=version,
            new_uuid=self._new_uuid,
            random=self._random,
        )
