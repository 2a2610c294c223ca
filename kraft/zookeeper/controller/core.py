"""The legacy controller: ``step(now, event) -> effects`` for one broker, whether it is the controller or not.

A decision may need several rounds of operations on ZooKeeper. The core takes no other event until it has ended, so
decisions are serial, as in Kafka's ControllerEventManager. An expired session or a newer controller ends a decision at
once: this broker resigns, and writes nothing more in that epoch. A read that ZooKeeper refuses ends a decision, too. It
is repeated after a pause. If it had changed something by then, the broker resigns, and reads everything anew after it.
So it does after an error that nobody foresaw. Kafka's KafkaController.process logs such an error and lives on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kraft.controller.context import Randomness
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.active import ActiveController, LegacyControllerConfig
from kraft.zookeeper.controller.api_requests import LEGACY_HANDLERS
from kraft.zookeeper.controller.brokers import brokers_changed
from kraft.zookeeper.controller.deletion import deletions_changed, replicas_stopped, resume_deletions
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerResponded,
    ControllerMoved,
    LegacyEffects,
    LegacyEvent,
    OperationsPerformed,
    ReadRefused,
    RebalanceDue,
    RoleChanged,
    SessionExpired,
    SessionStarted,
    StandAgain,
    Steps,
)
from kraft.zookeeper.controller.failover import NO_CONTROLLER, Elected, initialise, stand_for_election, take_over
from kraft.zookeeper.controller.notifications import isr_changes, log_dir_events, replicas_reported
from kraft.zookeeper.controller.partitions import bring_online
from kraft.zookeeper.controller.preferred import preferred_election, rebalance
from kraft.zookeeper.controller.reassignment import complete_reassignments, reassign_partitions, resume_reassignments
from kraft.zookeeper.controller.topics import topic_changed, topics_changed
from kraft.zookeeper.operations import Children, Get, Result, ZnodeChanged
from kraft.zookeeper.znodes.admin import DELETE_TOPICS, PREFERRED_REPLICA_ELECTION, REASSIGN_PARTITIONS
from kraft.zookeeper.znodes.brokers import BROKER_IDS
from kraft.zookeeper.znodes.cluster import BROKER_ENTITIES, TOPIC_ENTITIES, config_path
from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.notifications import ISR_CHANGES, LOG_DIR_EVENTS
from kraft.zookeeper.znodes.topics import TOPICS

_SETTINGS_OF_TOPICS, _SETTINGS_OF_BROKERS = config_path(TOPIC_ENTITIES, ""), config_path(BROKER_ENTITIES, "")

FIRST_REBALANCE_S = 5.0
"""After an election, as in Kafka."""


class LegacyController:
    """The controller's part of one broker. ``now`` is the wall clock in seconds: /controller has a timestamp."""

    def __init__(self, config: LegacyControllerConfig, new_uuid: Callable[[], UUID], random: Randomness) -> None:
        self.config = config
        self.controller_id = NO_CONTROLLER
        """The broker that is the controller, as far as this one knows."""
        self.active: ActiveController | None = None
        self._new_uuid = new_uuid
        self._random = random
        self._pauses = False
        """Whether this broker has resigned after a failure, and stands for election after a pause."""
        self._decision: Steps[None] | None = None
        self._event: LegacyEvent = SessionStarted()
        """The one that the decision is about."""
        self._has_changed = False
        """Whether the decision has written something, or the same event cannot be decided on anew."""
        self._effects = LegacyEffects()
        self._now = self._rebalance_at = 0.0

    def step(self, now: float, event: LegacyEvent) -> LegacyEffects:
        """Begin or continue a decision.

        Raises AssertionError for any event but OperationsPerformed and SessionExpired while operations are under way.
        """
        self._now = now
        self._effects = LegacyEffects()
        if isinstance(event, SessionExpired):
            self._resign("its session with ZooKeeper has ended")
            return self._effects
        results: tuple[Result, ...] | None = None
        if isinstance(event, OperationsPerformed):
            assert self._decision is not None, "results without operations"
            results = event.results
        else:
            assert self._decision is None, f"{event} before the results of the last operations"
            self._event, self._has_changed = event, isinstance(event, BrokerResponded)
            self._decision = self._flushed(self._decide(event))
        if self.active is not None:
            self.active.begin_step(self._effects)
        self._proceed(results)
        if self.active is not None and self.config.rebalances_leaders and self._effects.operations is None:
            self._effects.deadline = self._rebalance_at
        return self._effects

    def _proceed(self, results: tuple[Result, ...] | None) -> None:
        assert self._decision is not None
        try:
            self._effects.operations = next(self._decision) if results is None else self._decision.send(results)
        except StopIteration:
            self._decision = None
        except ControllerMoved:
            self._resign("ZooKeeper refused a write: another controller has raised the epoch")
            self._event = StandAgain()
            self._decision = self._flushed(self._elect("its writes were refused"))
            self._proceed(None)
        except ReadRefused as error:
            is_repeated = not isinstance(self._event, ApiRequest)
            self._effects.notes.append(f"{error}; the {'decision is repeated' if is_repeated else 'request fails'}")
            self._abandon()
        except Exception as failure:
            self._effects.failure = failure
            self._has_changed |= not isinstance(self._event, ApiRequest)  # A request changes nothing before it writes.
            self._abandon()

    def _abandon(self) -> None:
        """End a decision that has failed. Resign if memory may contradict ZooKeeper now."""
        self._decision = None
        if self.active is not None and self._has_changed:
            self._resign("a decision failed after it had changed something")
            self._event, self._pauses = StandAgain(), True
        if not isinstance(self._event, ApiRequest):
            self._effects.repeated.append(self._event)

    def _flushed(self, decision: Steps[None]) -> Steps[None]:
        """Run a decision. Send brokers what waits for them before each round of operations, and at the end."""
        results: tuple[Result, ...] | None = None
        try:
            while True:
                operations = next(decision) if results is None else decision.send(results)
                if operations and self.active is not None:
                    yield from self.active.flush(self._now)
                self._has_changed |= any(not isinstance(each, Get | Children) for each in operations)
                results = yield operations
        except StopIteration:
            if self.active is not None:
                yield from self.active.flush(self._now)
        finally:
            decision.close()

    def _resign(self, reason: str) -> None:
        """Forget everything. The requests in flight are void, because the next controller has a higher epoch."""
        if self._decision is not None:
            self._decision.close()
        self._decision = None
        self._effects.requests.clear()
        self._deactivate(reason)
        self.controller_id = NO_CONTROLLER

    def _deactivate(self, reason: str) -> None:
        if self.active is not None:
            self._effects.roles.append(RoleChanged(self.active.epoch, False, reason))
        self.active = None

    def _decide(self, event: LegacyEvent) -> Steps[None]:
        match event:
            case SessionStarted():
                yield from self._elect("its session began")
            case StandAgain():
                yield from self._elect("its last decision failed")
            case ZnodeChanged("/controller" | "/controller_epoch") if self._pauses:
                pass  # Its own election has changed them, too: another one at once would fail as often.
            case ZnodeChanged(path="/controller"):
                yield from self._elect(f"the znode of controller {self.controller_id} changed or is gone")
            case ZnodeChanged(path) if path == CONTROLLER_EPOCH and self.controller_id == NO_CONTROLLER:
                yield from self._elect("the epoch of the controllers changed")
            case ZnodeChanged(path) if self.active is not None:
                yield from _changed(self.active, path)
            case BrokerResponded(broker_id, number, response) if self.active is not None:
                yield from _responded(self.active, broker_id, number, response)
            case ApiRequest(token, message, version):
                yield from self._answer(token, message, version)
            case RebalanceDue() if self.active is not None:
                self._rebalance_at = self._now + self.config.leader_imbalance_check_interval_s
                yield from rebalance(self.active)

    def _answer(self, token: object, message: Any, version: int) -> Steps[None]:
        """Answer a request. NOT_CONTROLLER is the response too if this broker resigns meanwhile."""
        handler = LEGACY_HANDLERS[type(message)]
        response = handler.error(message, version, ErrorCode.NOT_CONTROLLER)
        try:
            if self.active is not None:
                response = yield from handler.decide(self.active, message, version)
        except ControllerMoved:
            raise
        except Exception:
            response = handler.error(message, version, ErrorCode.UNKNOWN_SERVER_ERROR)
            raise
        finally:
            self._effects.responses.append((token, response))

    def _elect(self, occasion: str) -> Steps[None]:
        """Follow the controller in ZooKeeper, or become it. While /controller or its epoch is malformed, there is no
        election.
        """
        self._pauses = False
        try:
            elected = yield from stand_for_election(self.config, int(self._now * 1000), self.active is not None)
        except MalformedZnode as error:
            self._effects.notes.append(f"{error}; no election until it changes")
            elected = Elected(NO_CONTROLLER)
        else:
            if elected.broker_id == NO_CONTROLLER:  # No znode has changed, so no watch would bring another election.
                self._effects.notes.append("ZooKeeper refused the election of this broker; it is repeated")
                self._effects.repeated.append(StandAgain())
        self.controller_id = elected.broker_id
        if elected.epoch is not None:
            self.active = take_over(self.config, elected, self._new_uuid, self._random)
            self.active.begin_step(self._effects)
            self._has_changed = True
            self._effects.roles.append(RoleChanged(elected.epoch, True, f"{occasion}, and there was no controller"))
            self._rebalance_at = self._now + FIRST_REBALANCE_S
            yield from initialise(self.active)
            yield from _take_up_requests(self.active)
        elif self.active is not None and elected.broker_id != self.config.broker_id:
            named = "no broker" if elected.broker_id == NO_CONTROLLER else f"broker {elected.broker_id}"
            self._deactivate(f"/controller has {named} now")


def _take_up_requests(active: ActiveController) -> Steps[None]:
    """The end of KafkaController.onControllerFailover: requests in ZooKeeper, and work left by the last controller."""
    yield from deletions_changed(active)
    yield from reassign_partitions(active)
    yield from resume_reassignments(active)
    yield from preferred_election(active)


def _changed(active: ActiveController, path: str) -> Steps[None]:
    if path == BROKER_IDS or path.startswith(f"{BROKER_IDS}/"):
        if (yield from brokers_changed(active)):
            yield from resume_reassignments(active)
        yield from resume_deletions(active)
    elif path.startswith(f"{TOPICS}/"):
        topic = path.removeprefix(f"{TOPICS}/")
        yield from topic_changed(active, topic)
        known = active.cluster.topics.get(topic)
        yield from complete_reassignments(active, [(topic, index) for index in known.partitions] if known else ())
    elif path.startswith(_SETTINGS_OF_TOPICS):
        # Kafka's TopicUncleanLeaderElectionEnable and UncleanLeaderElectionEnable.
        yield from bring_online(active, (path.removeprefix(_SETTINGS_OF_TOPICS),))
    elif path.startswith(_SETTINGS_OF_BROKERS):
        yield from bring_online(active)
    elif path in _WATCHED:
        yield from _WATCHED[path](active)


_WATCHED: dict[str, Callable[[ActiveController], Steps[None]]] = {
    DELETE_TOPICS: deletions_changed,
    ISR_CHANGES: isr_changes,
    LOG_DIR_EVENTS: log_dir_events,
    PREFERRED_REPLICA_ELECTION: preferred_election,
    REASSIGN_PARTITIONS: reassign_partitions,
    TOPICS: topics_changed,
}


def _responded(active: ActiveController, broker_id: int, number: int, response: Any) -> Steps[None]:
    queue = active.queues.get(broker_id)
    if queue is None or queue.in_flight is None or queue.in_flight[0] != number:
        return  # A request to an earlier incarnation of the broker.
    message, queue.in_flight = queue.in_flight[1], None
    if isinstance(message, LeaderAndIsrRequest):
        yield from replicas_reported(active, broker_id, message, response)
    elif isinstance(message, StopReplicaRequest):
        yield from replicas_stopped(active, broker_id, message, response)
    elif response.error_code:
        active.note(f"broker {broker_id} refused an UpdateMetadata: {ErrorCode(response.error_code).name}")
