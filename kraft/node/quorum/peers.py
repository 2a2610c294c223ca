"""The way to another voter: one task, one connection, and at most one request of a kind that waits to be sent.

A newer request replaces an older one of its kind that is still waiting, so a peer that is away costs no memory. The
core decides what is asked again and when; here nothing is repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs
import trio

from kraft.config.listeners import Voter, address
from kraft.node.quorum.wire import BadResponse, Identity, request_message, response_value
from kraft.raft.events import Event, RequestFailed, ResponseReceived, Send
from kraft.raft.messages import FetchRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import KafkaError

logger = logging.getLogger("kraft.quorum")

_RECONNECT_BACKOFF_S = 0.05
_IN_FLIGHT = 5

Connect = Callable[[str, int, str, float], AbstractAsyncContextManager[Connection]]


class Report(Protocol):
    """Takes what became of a request, and the bytes that came with it."""

    def __call__(self, event: Event, data: bytes = b"", /) -> Awaitable[None]: ...


@attrs.define(eq=False)
class Peer:
    """One other voter. ``connect`` opens a connection to (host, port) for a client id, within seconds."""

    voter: Voter
    identity: Identity
    request_timeout_s: float
    connect: Connect
    report: Report
    connected: bool = False
    _waiting: dict[type, Send] = attrs.Factory(dict)
    _wanted: trio.Event = attrs.Factory(trio.Event)

    def send(self, send: Send) -> None:
        """Have a request sent as soon as may be; what becomes of it is reported."""
        self._waiting[type(send.request)] = send
        self._wanted.set()

    async def run(self) -> None:
        """Carry requests until cancelled. A peer that cannot be reached is tried again when there is something to ask.

        Error handling: nothing that a peer does raises here; a request that got no answer is reported as failed.
        """
        host, port = self.voter.host, self.voter.port
        while True:
            await self._wanted.wait()
            try:
                async with self.connect(host, port, str(self.identity.node_id), self.request_timeout_s) as connection:
                    self.connected = True
                    logger.info("connected to voter %s", self.voter)
                    await self._carry(connection)
            except (OSError, trio.TooSlowError, KafkaError) as error:
                logger.debug("voter %s at %s: %s", self.voter.node_id, address(host, port), error)
                for send in self._take():
                    await self._fail(send)
            if self.connected:
                self.connected = False
                logger.info("disconnected from voter %s", self.voter)
            await trio.sleep(_RECONNECT_BACKOFF_S)

    def _take(self) -> list[Send]:
        self._wanted = trio.Event()
        sends = list(self._waiting.values())
        self._waiting.clear()
        return sends

    async def _carry(self, connection: Connection) -> None:
        """Send what is wanted for as long as the connection holds."""
        slots = trio.CapacityLimiter(_IN_FLIGHT)
        async with trio.open_nursery() as requests:
            while not connection.closed:
                for send in self._take():
                    name = f"{type(send.request).__name__} {send.number}"
                    requests.start_soon(self._ask, connection, send, slots, name=name)
                await self._wanted.wait()

    async def _ask(self, connection: Connection, send: Send, slots: trio.CapacityLimiter) -> None:
        request = send.request
        try:
            message = request_message(request, self.identity, self.voter.node_id, connection.versions)
        except KafkaError:
            await self.report(RequestFailed(send.number, self.voter.node_id, request, unsupported=True))
            return
        try:
            wait_s = request.max_wait_s if isinstance(request, FetchRequest) else 0.0
            async with slots:
                answer = await connection.request(
                    message.message, message.version, timeout_s=self.request_timeout_s + wait_s
                )
            response, data = response_value(request, answer, message.version)
        except BadResponse as error:
            logger.warning("voter %s: %s", self.voter, error)
            await self._fail(send)
        except (OSError, trio.TooSlowError, KafkaError) as error:
            logger.debug("voter %s: %s: %s", self.voter, type(request).__name__, error)
            await self._fail(send)
            self._wanted.set()  # so that the end of the connection is seen
        else:
            await self.report(ResponseReceived(send.number, self.voter.node_id, request, response), data)

    async def _fail(self, send: Send) -> None:
        await self.report(RequestFailed(send.number, self.voter.node_id, send.request))
