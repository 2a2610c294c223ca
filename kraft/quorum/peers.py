"""The way to another voter: one connection, a few senders on it, and at most one request of a kind that waits for them.

A newer request replaces an older one of its kind that is still waiting, so a peer that is away costs no memory. The
core decides what is asked again and when; here nothing is repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import attrs
import trio

from kraft.config.listeners import Voter, address
from kraft.quorum.outbound_requests import BadResponse, request_message, response_value
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.refusals import kind_of
from kraft.quorum.rpcs import Identity
from kraft.raft.events import Event, RequestFailed, ResponseReceived, Send
from kraft.raft.messages import FetchRequest, Request
from kraft.raft.timing import Timing
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.quorum")

_RECONNECT_BACKOFF_S = 0.05
_IN_FLIGHT = 5
_LONGEST_PAUSE_S = 1.0
_MAX_EXPONENT = 10
#: Errors that come with elections, and with snapshots that come and go.
_USUAL = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.SNAPSHOT_NOT_FOUND,
        ErrorCode.POSITION_OUT_OF_RANGE,
    }
)

Connect = Callable[[str, int, str, float], AbstractAsyncContextManager[Connection]]


#: Takes what became of a request.
Report = Callable[[Event], Awaitable[None]]


@attrs.define
class _Fault:
    """Useless responses to one kind of request, ``times`` in a row; the next request waits until ``until``."""

    times: int = 0
    until: float = 0.0
    reason: str = ""
    was_said: bool = False


@attrs.define(eq=False)
class Peer:
    """One other voter. ``connect`` opens a connection to (host, port) for a client id, within seconds.

    What it refuses for good, as a voter of another cluster does, is asked less and less often, and said once.
    """

    voter: Voter
    identity: Identity
    timing: Timing
    warnings: PeerWarnings
    connect: Connect
    report: Report
    connected: bool = False
    _waiting: dict[type, Send] = attrs.Factory(dict)
    _idle: trio.lowlevel.ParkingLot = attrs.Factory(trio.lowlevel.ParkingLot)
    _faults: dict[type, _Fault] = attrs.Factory(dict)

    def send(self, send: Send) -> None:
        """Have a request sent as soon as may be; what becomes of it is reported."""
        self._waiting[type(send.request)] = send
        self._idle.unpark()

    def note_fault(self, request: Request, reason: str, detail: str = "") -> None:
        """Count a useless response to this kind of request. Only a new ``reason`` is logged at once."""
        fault = self._faults.setdefault(type(request), _Fault())
        if reason != fault.reason:
            self.warnings.resolve((self.voter.node_id, fault.reason))
            fault.reason = reason
        fault.was_said |= self.warnings.warn((self.voter.node_id, reason), f"{self.voter.node_id} {reason}{detail}")
        fault.times += 1
        pause_s = self.timing.retry_backoff_s * 2.0 ** min(fault.times, _MAX_EXPONENT)
        fault.until = trio.current_time() + min(_LONGEST_PAUSE_S, pause_s)

    def note_success(self, request: Request) -> None:
        """A response to this kind of request was of use: forget its faults."""
        fault = self._faults.pop(type(request), None)
        if fault is None:
            return
        self.warnings.resolve((self.voter.node_id, fault.reason))
        if fault.was_said:
            logger.info("%s gives good answers to %s again", self.voter.node_id, kind_of(request))

    async def run(self) -> None:
        """Carry requests until cancelled. A peer that cannot be reached is tried again when there is something to ask.

        Error handling: nothing that a peer does raises here; a request that got no answer is reported as failed.
        """
        host, port, timeout_s = self.voter.host, self.voter.port, self.timing.request_timeout_s
        while True:
            if not self._waiting:
                await self._idle.park()
            try:
                async with self.connect(host, port, str(self.identity.node_id), timeout_s) as connection:
                    self.connected = True
                    logger.info("connected to voter %s", self.voter)
                    await self._carry(connection)
            except (OSError, trio.TooSlowError, KafkaError) as error:
                logger.debug("voter %s at %s: %s", self.voter.node_id, address(host, port), error)
                waiting, self._waiting = self._waiting, {}
                for send in waiting.values():
                    await self._fail(send)
            if self.connected:
                self.connected = False
                logger.info("disconnected from voter %s", self.voter)
            await trio.sleep(_RECONNECT_BACKOFF_S)

    def _take(self) -> Send:
        """What has waited longest."""
        return self._waiting.pop(next(iter(self._waiting)))

    async def _carry(self, connection: Connection) -> None:
        """Send what is wanted for as long as the connection holds."""
        async with trio.open_nursery() as nursery:
            for number in range(_IN_FLIGHT):
                nursery.start_soon(self._send_each, connection, name=f"sender {number} to {self.voter.node_id}")

    async def _send_each(self, connection: Connection) -> None:
        while not connection.closed:
            if self._waiting:
                await self._ask(connection, self._take())
            else:
                await self._idle.park()
        self._idle.unpark_all()  # so that every sender sees the end of the connection

    async def _ask(self, connection: Connection, send: Send) -> None:
        request = send.request
        try:
            message = request_message(request, self.identity, self.voter.node_id, connection.versions)
        except KafkaError:
            await self._fail(send, unsupported=True)
            return
        if type(request) in self._faults:
            await trio.sleep_until(self._faults[type(request)].until)
        try:
            wait_s = request.max_wait_s if isinstance(request, FetchRequest) else 0.0
            timeout_s = self.timing.request_timeout_s + wait_s
            answer = await connection.request(message.message, message.version, timeout_s=timeout_s)
            response, data = response_value(request, answer, message.version)
        except BadResponse as error:
            self.note_fault(request, f"gives no good answer to {kind_of(request)}: {error}")
            await self._fail(send, answered=True)
        except (OSError, trio.TooSlowError, KafkaError) as error:
            logger.debug("voter %s: %s: %s", self.voter, type(request).__name__, error)
            await self._fail(send)
        else:
            if response.error not in _USUAL:
                self.note_fault(request, f"refuses {kind_of(request)}: {response.error.name}")
            elif response.error is ErrorCode.NONE and not data:  # whether data are of use, others see
                self.note_success(request)
            await self.report(ResponseReceived(send.number, self.voter.node_id, request, response, data))

    async def _fail(self, send: Send, *, unsupported: bool = False, answered: bool = False) -> None:
        to = self.voter.node_id
        await self.report(RequestFailed(send.number, to, send.request, unsupported=unsupported, answered=answered))
