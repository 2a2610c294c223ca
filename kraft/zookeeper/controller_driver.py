"""The driver of the legacy controller: it gives the core its events, and performs its effects.

A channel to each broker sends one request at a time, again after each lost connection, as Kafka's RequestSendThread
does. A channel ends with the incarnation of its broker, or with the epoch of the controller.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any, Protocol

import attrs
import trio

from kraft.messages.registry import response_class
from kraft.metrics import Registry
from kraft.rpc.client import Connection, open_connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import in_another_queue, next_slice
from kraft.world.trace import Trace
from kraft.world.world import World
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerRequest,
    BrokerResponded,
    LegacyEffects,
    LegacyEvent,
    OperationsPerformed,
    RebalanceDue,
    RoleChanged,
    SessionExpired,
    SessionStarted,
)
from kraft.zookeeper.controller.states import state_of
from kraft.zookeeper.controller_metrics import LegacyControllerMetrics
from kraft.zookeeper.operations import Operation, Result, ZnodeChanged
from kraft.zookeeper.session import SessionLost, SessionState
from kraft.zookeeper.trace import ControllerElected, ControllerResigned

logger = logging.getLogger("kraft.zookeeper")

INBOX_EVENTS = 100
RETRY_BACKOFF_S = 0.1
REPEAT_PAUSE_S = 1.0
"""Not a Kafka setting. The pause before a decision that failed is repeated, or before another election."""
REQUEST_TIMEOUT_S = 30.0
"""controller.socket.timeout.ms"""

Incarnation = tuple[int, int, int]
"""A broker's id and epoch, and the epoch of the controller that sends to it."""


class ZnodeOperations(Protocol):
    """The part of a session that the controller needs; ``ZooKeeperSession`` is one."""

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]: ...


@attrs.frozen
class _Queued:
    """An event, and the time since which it waits, on the clock of the metrics."""

    event: LegacyEvent
    at_s: float


@attrs.define(eq=False)
class _Pending:
    """A request to the controller, whose task waits for the response."""

    done: trio.Event = attrs.Factory(trio.Event)
    response: Any = None


@attrs.define(eq=False)
class _Channel:
    requests: trio.MemorySendChannel[BrokerRequest]
    scope: trio.CancelScope


class LegacyControllerDriver:
    """One for the life of the broker. ``run`` lasts for one session.

    ``answer`` is the one way of a request to the core. An API of the active controller needs three things: a function
    ``(active, message, version) -> Steps[response]`` in ``kraft.zookeeper.controller``; its row in ``LEGACY_HANDLERS``
    with the response of a broker that is not the controller; and ``at_zk_broker = ask_controller`` in the API's file.
    """

    def __init__(
        self, world: World, core: LegacyController, trace: Trace, registry: Registry, request_timeout_s: float = 30.0
    ) -> None:
        self.core = core
        self._world = world
        self._request_timeout_s = request_timeout_s
        self._has_expired = self._is_stopped = False
        self._metrics = LegacyControllerMetrics(registry, core, self._waiting_events)
        self._elected, self._resigned = trace.of(ControllerElected), trace.of(ControllerResigned)
        self._channels: dict[Incarnation, _Channel] = {}
        self._repeated: set[LegacyEvent] = set()
        self._taking_over: RoleChanged | None = None
        """The election whose first decision is under way. A log line follows at its end: with a lasting error of
        ZooKeeper a broker is elected, fails and resigns every second, and only the error is worth a line.
        """
        self._events: trio.MemorySendChannel[_Queued] | None = None

    async def run(self, opened: ZnodeOperations) -> None:
        """Drive the core in a session in which the broker is registered; return when the session is over.

        Error handling: no error of a broker is raised here; its request is sent again. A request that cannot be encoded
        is logged and counts as one that the broker refused. A decision that fails is logged, as the core says.
        """
        assert self._events is None, "one session at a time"
        self._events, inbox = trio.open_memory_channel[_Queued](INBOX_EVENTS)
        self._has_expired = self._is_stopped = False
        self._repeated.clear()
        with in_another_queue():
            async with trio.open_nursery() as nursery:
                queued = self._queued(SessionStarted())
                try:
                    while not isinstance(queued.event, SessionExpired):
                        deadline = await self._decide(opened, queued, nursery)
                        with trio.move_on_after(max(0.0, deadline - self._world.clock.now_s())) as wait:
                            queued = await inbox.receive()
                        if wait.cancelled_caught:
                            queued = self._queued(RebalanceDue())
                except SessionLost:
                    self._has_expired = True
                finally:
                    self._events, self._is_stopped = None, not self._has_expired
                    self._end_session(inbox)
                    nursery.cancel_scope.cancel()

    async def changed(self, event: ZnodeChanged | SessionState) -> None:
        """Take an event of the session. After the end of ``run`` it has no effect: the next session reads all anew."""
        if self._events is None:
            return
        if isinstance(event, ZnodeChanged):
            await self._events.send(self._queued(event))
        elif event is SessionState.EXPIRED:
            self._has_expired = True
            await self._events.send(self._queued(SessionExpired()))

    async def answer(self, message: Any, version: int) -> Any:
        """Give the controller a request, and return the response, which is NOT_CONTROLLER without a session.

        Raises KafkaError REQUEST_TIMED_OUT after ``request_timeout_s``, because ZooKeeper may be gone. The controller
        may perform the request later.
        """
        pending = _Pending()
        request = ApiRequest(pending, message, version)
        with trio.move_on_after(self._request_timeout_s):
            if self._events is not None:
                await self._events.send(self._queued(request))
            else:
                self._perform(self.core.step(self._world.clock.now_s(), request), None)
            await pending.done.wait()
            return pending.response
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the controller waits for ZooKeeper")

    def _queued(self, event: LegacyEvent) -> _Queued:
        return _Queued(event, self._metrics.clock())

    def _waiting_events(self) -> int:
        return 0 if self._events is None else self._events.statistics().current_buffer_used

    async def _decide(self, opened: ZnodeOperations, queued: _Queued, nursery: trio.Nursery) -> float:
        """One decision, with all its operations; return the core's deadline."""
        metrics, unclean = self._metrics, 0
        began_s = metrics.clock()
        metrics.event_taken(state_of(queued.event), began_s - queued.at_s)
        effects = self.core.step(self._world.clock.now_s(), queued.event)
        while True:
            self._perform(effects, nursery)
            if effects.failure is not None:
                what = "controller: the decision on %.300r failed"
                logger.error(what, queued.event, exc_info=effects.failure)
            unclean += effects.unclean_elections
            if effects.operations is None:
                self._log_election()
                metrics.event_done(metrics.clock() - began_s, unclean)
                return effects.deadline
            if effects.operations:
                results = await opened.perform(effects.operations)
            else:
                results = ()
                await next_slice()
            effects = self.core.step(self._world.clock.now_s(), OperationsPerformed(results))

    def _perform(self, effects: LegacyEffects, nursery: trio.Nursery | None) -> None:
        for role in effects.roles:
            self._report(role)
        for note in effects.notes:
            logger.warning("controller: %s", note)
        for token, response in effects.responses:
            assert isinstance(token, _Pending)
            token.response = response
            token.done.set()
        self._end_channels()
        for request in effects.requests:
            assert nursery is not None
            self._metrics.request_sent(request)
            self._channel(request, nursery).requests.send_nowait(request)
        for event in effects.repeated:
            if event not in self._repeated:
                assert nursery is not None
                assert self._events is not None
                self._repeated.add(event)
                nursery.start_soon(self._repeat, event, self._events, name="repeated decision")

    async def _repeat(self, event: LegacyEvent, events: trio.MemorySendChannel[_Queued]) -> None:
        await trio.sleep(REPEAT_PAUSE_S)
        self._repeated.discard(event)
        await events.send(self._queued(event))

    def _report(self, role: RoleChanged) -> None:
        if role.is_active:
            self._taking_over = role
            if self._elected.listeners:
                self._elected.emit(ControllerElected(*self._elected.now(), role.epoch, role.reason))
        else:
            if self._taking_over is None:
                level = logging.INFO if self._is_stopped else logging.WARNING
                logger.log(level, "no longer the controller of epoch %d: %s", role.epoch, role.reason)
            self._taking_over = None
            if self._resigned.listeners:
                self._resigned.emit(ControllerResigned(*self._resigned.now(), role.epoch, role.reason))

    def _log_election(self) -> None:
        if self._taking_over is not None:
            logger.info("elected as the controller in epoch %d: %s", self._taking_over.epoch, self._taking_over.reason)
            self._taking_over = None

    def _end_session(self, inbox: trio.MemoryReceiveChannel[_Queued]) -> None:
        """Resign. Answer the requests that wait, and drop the events: the next session reads everything anew."""
        self._perform(self.core.step(self._world.clock.now_s(), SessionExpired()), None)
        with inbox, contextlib.suppress(trio.WouldBlock):
            while True:
                event = inbox.receive_nowait().event  # also of the tasks that wait for room
                if isinstance(event, ApiRequest):
                    self._perform(self.core.step(self._world.clock.now_s(), event), None)

    def _end_channels(self) -> None:
        active = self.core.active
        queues = {} if active is None else active.queues
        epoch = -1 if active is None else active.epoch
        current = {(broker_id, queue.broker_epoch, epoch) for broker_id, queue in queues.items()}
        for incarnation in self._channels.keys() - current:
            self._channels.pop(incarnation).scope.cancel()
            self._metrics.broker_gone(incarnation[0])

    def _channel(self, request: BrokerRequest, nursery: trio.Nursery) -> _Channel:
        incarnation = request.broker_id, request.broker_epoch, request.message.controller_epoch
        if incarnation not in self._channels:
            assert self._events is not None
            send, receive = trio.open_memory_channel[BrokerRequest](1)
            scope = trio.CancelScope()
            self._channels[incarnation] = _Channel(send, scope)
            name = f"controller to {request.broker_id}"
            nursery.start_soon(self._send_all, receive, self._events, scope, name=name)
        return self._channels[incarnation]

    async def _send_all(
        self,
        requests: trio.MemoryReceiveChannel[BrokerRequest],
        events: trio.MemorySendChannel[_Queued],
        scope: trio.CancelScope,
    ) -> None:
        connection: Connection | None = None
        try:
            with scope:
                async for request in requests:
                    while True:
                        try:
                            if connection is None or connection.closed:
                                connection = await self._connect(request)
                            response = await connection.request(
                                request.message, request.version, timeout_s=REQUEST_TIMEOUT_S
                            )
                            break
                        except (OSError, trio.TooSlowError, KafkaError) as error:
                            logger.debug("broker %d: %s", request.broker_id, error)
                            await trio.sleep(RETRY_BACKOFF_S)
                        except Exception:  # It cannot be encoded, and could not at the next attempt.
                            api = type(request.message)
                            logger.exception("controller: %s to broker %d is dropped", api.__name__, request.broker_id)
                            refusal: Any = response_class(api.API_KEY)
                            response = refusal(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
                            break
                    responded = BrokerResponded(request.broker_id, request.number, response)
                    await events.send(self._queued(responded))
        finally:
            if connection is not None:
                connection.close()

    async def _connect(self, request: BrokerRequest) -> Connection:
        """The client id is the controller's id, and there is no ApiVersions before the requests, as in Kafka."""
        client_id, address = str(self.core.config.broker_id), request.endpoint
        dial = self._world.dial
        return await open_connection(address.host, address.port, client_id, REQUEST_TIMEOUT_S, dial=dial, versions={})
