"""Sends requests to another voter: one connection, several senders, and at most one waiting request of each kind.

A newer request replaces a waiting one of its kind, so a peer that is away costs no memory. The core decides what to
request again and when; this module retries nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import attrs
import trio

from kraft.config.listeners import Voter
from kraft.quorum.outbound_requests import BadResponse, request_message, response_value
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.refusals import kind_of
from kraft.quorum.rpcs import Identity
from kraft.raft.events import Event, RequestFailed, ResponseReceived, Send
from kraft.raft.messages import FetchRequest, Request
from kraft.raft.timing import Timing
from kraft.rpc.client import Connect, Connection, reason
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.quorum")

_RECONNECT_BACKOFF_S = 0.05
_IN_FLIGHT = 5
_LONGEST_PAUSE_S = 1.0
_MAX_EXPONENT = 10
#: Errors that occur during elections, and when snapshots are replaced.
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

#: Takes the outcome of a request.
Report = Callable[[Event], Awaitable[None]]


@attrs.define
class _Fault:
    """Bad responses to one kind of request, ``times`` in a row. The next request waits until ``until``."""

    times: int = 0
    until: float = 0.0
    reason: str = ""
    was_logged: bool = False


@attrs.define(eq=False)
class Peer:
    """One other voter. ``connect`` connects to a host and port with a client id, within a timeout in seconds.

    A request that the voter always refuses, such as one to another cluster, is sent less and less often, and logged
    as :mod:`kraft.quorum.peer_warnings` says.
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
        """Send a request as soon as possible. ``report`` gets the outcome."""
        self._waiting[type(send.request)] = send
        self._idle.unpark()

    def note_fault(self, request: Request, reason: str, detail: str = "") -> None:
        """Count a bad response to this kind of request. Only a new ``reason`` is logged at once."""
        fault = self._faults.setdefault(type(request), _Fault())
        if reason != fault.reason:
            self.warnings.resolve((self.voter.node_id, fault.reason))
            fault.reason = reason
        fault.was_logged |= self.warnings.warn((self.voter.node_id, reason), f"{self.voter.node_id} {reason}{detail}")
        fault.times += 1
        pause_s = self.timing.retry_backoff_s * 2.0 ** min(fault.times, _MAX_EXPONENT)
        fault.until = trio.current_time() + min(_LONGEST_PAUSE_S, pause_s)

    def note_success(self, request: Request) -> None:
        """Reset the faults of this kind of request after a good response."""
        fault = self._faults.pop(type(request), None)
        if fault is None:
            return
        self.warnings.resolve((self.voter.node_id, fault.reason))
        if fault.was_logged:
            logger.info("%s sends valid responses to %s again", self.voter.node_id, kind_of(request))

    async def run(self) -> None:
        """Send requests until cancelled. If the voter cannot be reached, connect again for the next request.

        Error handling: no error of the peer is raised here. A request without a response is reported as failed.
        """
        host, port, timeout_s = self.voter.host, self.voter.port, self.timing.request_timeout_s
        unreachable = self.voter.node_id, "unreachable"
        while True:
            if not self._waiting:
                await self._idle.park()
            try:
                async with self.connect(host, port, str(self.identity.node_id), timeout_s) as connection:
                    self.connected = True
                    self.warnings.resolve(unreachable)
                    logger.info("connected to voter %s", self.voter)
                    await self._send_all(connection)
            except (OSError, trio.TooSlowError, KafkaError) as error:
                if self.connected:
                    logger.debug("voter %s: %s", self.voter, reason(error))
                else:
                    self.warnings.warn(unreachable, f"cannot connect to voter {self.voter}: {reason(error)}")
                waiting, self._waiting = self._waiting, {}
                for send in waiting.values():
                    await self._fail(send)
            if self.connected:
                self.connected = False
                logger.info("disconnected from voter %s", self.voter)
            await trio.sleep(_RECONNECT_BACKOFF_S)

    def _take(self) -> Send:
        """Return the request that has waited longest."""
        return self._waiting.pop(next(iter(self._waiting)))

    async def _send_all(self, connection: Connection) -> None:
        """Run the senders until the connection closes."""
        async with trio.open_nursery() as nursery:
            for number in range(_IN_FLIGHT):
                nursery.start_soon(self._send_each, connection, name=f"sender {number} to {self.voter.node_id}")

    async def _send_each(self, connection: Connection) -> None:
        while not connection.closed:
            if not self._waiting:
                await self._idle.park()
            elif connection.is_abandoned:
                # The voter closes a connection that is idle, such as a leader's. The next one gets the request.
                connection.close()
            else:
                await self._exchange(connection, self._take())
        self._idle.unpark_all()  # Every sender must see the end of the connection.

    async def _exchange(self, connection: Connection, send: Send) -> None:
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
            received = await connection.request(message.message, message.version, timeout_s=timeout_s)
            response, data = response_value(request, received, message.version)
        except BadResponse as error:
            self.note_fault(request, f"sends no valid response to {kind_of(request)}: {error}")
            await self._fail(send, answered=True)
        except (OSError, trio.TooSlowError, KafkaError) as error:
            logger.debug("voter %s: %s: %s", self.voter, type(request).__name__, reason(error))
            await self._fail(send)
        else:
            if response.error not in _USUAL:
                self.note_fault(request, f"refuses {kind_of(request)}: {response.error.name}")
            elif response.error is ErrorCode.NONE and not data:  # the driver judges data
                self.note_success(request)
            await self.report(ResponseReceived(send.number, self.voter.node_id, request, response, data))

    async def _fail(self, send: Send, *, unsupported: bool = False, answered: bool = False) -> None:
        to = self.voter.node_id
        await self.report(RequestFailed(send.number, to, send.request, unsupported=unsupported, answered=answered))
