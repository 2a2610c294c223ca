"""Elements of requests to the brokers that coordinate them: one task for each broker sends what waits for it.

The elements that arrive during a request share the next one, as in Apache's ``InterBrokerSendThread`` and its children.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.task_starter import TaskStarter
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connect, Connection, reason
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.coordination")

_MAX_WAITING = 1_000
"""Not a Kafka setting. The elements that wait for one broker. Further ones retry."""


class Element(Protocol):
    """A part of a request, whose sender waits for its result."""

    def fail(self, code: ErrorCode) -> None:
        """Wake the sender with an error, unless it has a result."""


E = TypeVar("E", bound=Element)


@attrs.define(eq=False)
class BrokerSenders(Generic[E]):
    """The senders to all brokers.

    ``purpose`` names their tasks and connections. ``choose`` returns those of the waiting elements that fit into one
    request, at least the first. ``send`` sends that request, and passes the results on; it may raise OSError,
    trio.TooSlowError or KafkaError. Elements without a result then get NETWORK_EXCEPTION.
    """

    config: NodeConfig
    replicas: Replicas
    connect: Connect
    purpose: str
    choose: Callable[[Sequence[E]], list[E]]
    send: Callable[[Connection, list[E]], Awaitable[None]]
    _senders: dict[int, _Sender[E]] = attrs.Factory(dict)
    _tasks: TaskStarter = attrs.Factory(TaskStarter)

    async def run(self) -> None:
        """Run the senders until cancelled."""
        await self._tasks.run()

    def add(self, broker_id: int, element: E) -> None:
        """Send ``element`` with the next request. Raises KafkaError COORDINATOR_NOT_AVAILABLE if too many wait."""
        sender = self._senders.get(broker_id)
        if sender is None:
            sender = self._senders[broker_id] = _Sender(broker_id, self)
            self._tasks.start(sender.run, f"{self.purpose} coordinator {broker_id}")
        sender.add(element)


@attrs.define(eq=False)
class _Sender(Generic[E]):
    """The requests to one broker, one after the other."""

    broker_id: int
    senders: BrokerSenders[E]
    _waiting: list[E] = attrs.Factory(list)
    _added: trio.Event = attrs.Factory(trio.Event)

    def add(self, element: E) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._waiting.append(element)
        self._added.set()

    async def run(self) -> None:
        """Send what waits until cancelled.

        Error handling: all that waits fails with NETWORK_EXCEPTION, and is retried by those who wait for it.
        """
        senders = self.senders
        timeout_s = senders.config.network.request_timeout_ms / 1000
        client_id = f"broker-{senders.config.node_id}-{senders.purpose}"
        while True:
            await self._added.wait()
            endpoint = senders.replicas.image.endpoint(self.broker_id, senders.config.listeners.inter_broker or "")
            if endpoint is None:
                self._fail()
                continue
            try:
                async with senders.connect(endpoint.host, endpoint.port, client_id, timeout_s) as connection:
                    while True:
                        await self._send(connection)
                        await self._added.wait()
            except (OSError, trio.TooSlowError, KafkaError) as failure:
                what = "broker %d does not coordinate %s, retrying: %s"
                logger.info(what, self.broker_id, senders.purpose, reason(failure))
                self._fail()

    def _fail(self) -> None:
        failed, self._waiting = self._waiting, []
        self._added = trio.Event()
        for element in failed:
            element.fail(ErrorCode.NETWORK_EXCEPTION)

    async def _send(self, connection: Connection) -> None:
        elements = self.senders.choose(self._waiting)
        chosen = set(map(id, elements))
        self._waiting = [each for each in self._waiting if id(each) not in chosen]
        if not self._waiting:
            self._added = trio.Event()
        try:
            await self.senders.send(connection, elements)
        finally:
            for element in elements:
                element.fail(ErrorCode.NETWORK_EXCEPTION)
