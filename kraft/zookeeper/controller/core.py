"""The legacy controller: ``step(now, event) -> effects`` for one broker, whether it is the controller or not.

A decision may need several rounds of operations on ZooKeeper. The core takes no other event until it has ended, so
decisions are serial, as in Kafka's ControllerEventManager. An expired session or a newer controller ends a decision at
once: this broker resigns, and writes nothing more in that epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from kraft.zookeeper.controller.active import ActiveController, LegacyControllerConfig
from kraft.zookeeper.controller.brokers import brokers_changed
from kraft.zookeeper.controller.effects import (
    BrokerResponded,
    ControllerMoved,
    LegacyEffects,
    LegacyEvent,
    OperationsPerformed,
    SessionExpired,
    SessionStarted,
    Steps,
)
from kraft.zookeeper.controller.failover import NO_CONTROLLER, Elected, initialise, stand_for_election, take_over
from kraft.zookeeper.controller.topics import topic_changed, topics_changed
from kraft.zookeeper.operations import Result, ZnodeChanged
from kraft.zookeeper.znodes.brokers import BROKER_IDS
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.topics import TOPICS


class LegacyController:
    """The controller's part of one broker. ``now`` is the wall clock in seconds: /controller has a timestamp."""

    def __init__(self, config: LegacyControllerConfig, new_uuid: Callable[[], UUID]) -> None:
        self.config = config
        self.controller_id = NO_CONTROLLER
        """The broker that is the controller, as far as this one knows."""
        self.active: ActiveController | None = None
        self._new_uuid = new_uuid
        self._decision: Steps[None] | None = None
        self._effects = LegacyEffects()
        self._now = 0.0

    def step(self, now: float, event: LegacyEvent) -> LegacyEffects:
        """Begin or continue a decision.

        Raises AssertionError for any event but OperationsPerformed and SessionExpired while operations are under way.
        """
        self._now = now
        self._effects = LegacyEffects()
        if isinstance(event, SessionExpired):
            self._resign()
            return self._effects
        results: tuple[Result, ...] | None = None
        if isinstance(event, OperationsPerformed):
            assert self._decision is not None, "results without operations"
            results = event.results
        else:
            assert self._decision is None, f"{event} before the results of the last operations"
            self._decision = self._decide(event)
        if self.active is not None:
            self.active.effects = self._effects
        self._proceed(results)
        if self.active is not None:
            self.active.flush()
        return self._effects

    def _proceed(self, results: tuple[Result, ...] | None) -> None:
        assert self._decision is not None
        try:
            self._effects.operations = next(self._decision) if results is None else self._decision.send(results)
        except StopIteration:
            self._decision = None
        except ControllerMoved:
            self._effects.notes.append("another controller was elected, so this one resigns")
            self._resign()
            self._decision = self._elect()
            self._proceed(None)

    def _resign(self) -> None:
        """Forget everything. The requests in flight are void, because the next controller has a higher epoch."""
        if self._decision is not None:
            self._decision.close()
        self._decision = None
        self.active = None
        self.controller_id = NO_CONTROLLER

    def _decide(self, event: LegacyEvent) -> Steps[None]:
        match event:
            case SessionStarted() | ZnodeChanged(path="/controller"):
                yield from self._elect()
            case ZnodeChanged(path) if self.active is not None:
                yield from _changed(self.active, path)
            case BrokerResponded(broker_id, number) if self.active is not None:
                queue = self.active.queues.get(broker_id)
                if queue is not None and queue.in_flight is not None and queue.in_flight[0] == number:
                    queue.in_flight = None

    def _elect(self) -> Steps[None]:
        """Follow the controller in ZooKeeper, or become it. While /controller is malformed, there is no election."""
        try:
            elected = yield from stand_for_election(self.config, int(self._now * 1000))
        except MalformedZnode as error:
            self._effects.notes.append(f"{error}; no election until it changes")
            elected = Elected(NO_CONTROLLER)
        self.controller_id = elected.broker_id
        if elected.epoch is not None:
            self.active = take_over(self.config, elected, self._new_uuid)
            self.active.effects = self._effects
            yield from initialise(self.active)
        elif self.active is not None and elected.broker_id != self.config.broker_id:
            self._effects.notes.append(f"broker {elected.broker_id} is the controller now, so this one resigns")
            self.active = None


def _changed(active: ActiveController, path: str) -> Steps[None]:
    if path == BROKER_IDS or path.startswith(f"{BROKER_IDS}/"):
        yield from brokers_changed(active)
    elif path == TOPICS:
        yield from topics_changed(active)
    elif path.startswith(f"{TOPICS}/"):
        yield from topic_changed(active, path.removeprefix(f"{TOPICS}/"))
