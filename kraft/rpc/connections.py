"""The live connections of one processor, in the order of their last activity (``connections.max.idle.ms``).

A request costs one ``move_to_end``. One timer serves all connections of a processor. Activity is a complete request
that arrived or a complete response that was sent. So a peer is idle that sends single bytes, reads no response, or
waits for a response that never comes.

A connection reads nothing while its request is parked, perhaps for minutes. So the timer also looks whether the peers
of parked requests are still there. Kafka notices that only when it sends the response.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import attrs
import trio

from kraft.metrics import Clock, Counter
from kraft.rpc.channel import ConnectionInfo, CurrentRequest
from kraft.world.transport import Transport

_SHORTEST_SLEEP_S = 0.001
PEER_CHECK_S = 1.0
"""Not a Kafka setting. The time between two looks at the peers of parked requests."""
_PEERS_IN_A_ROW = 500


@attrs.define(eq=False)
class LiveConnection:
    """A connection as its processor sees it. ``scope`` is that of its task: cancelling it closes the connection."""

    info: ConnectionInfo
    transport: Transport
    scope: trio.CancelScope
    last_active_at: float
    current: CurrentRequest
    draining: bool = False
    """The connection closes after the response in flight."""
    is_awaited: bool = False
    """Its request is parked, and its peer waits for the response."""

    @property
    def in_flight(self) -> bool:
        """Whether a request has arrived and its response is not sent yet."""
        return self.current.request is not None


class ConnectionTable:
    """The only owner of the order. All methods except ``expire`` are synchronous."""

    def __init__(self) -> None:
        self._by_activity: OrderedDict[LiveConnection, None] = OrderedDict()
        self._draining = False

    def __len__(self) -> int:
        return len(self._by_activity)

    def __iter__(self) -> Iterator[LiveConnection]:
        """Longest idle first."""
        return iter(self._by_activity)

    def add(self, connection: LiveConnection) -> None:
        self._by_activity[connection] = None
        if self._draining:
            connection.draining = True
            connection.scope.cancel(reason="plane is stopping")

    def remove(self, connection: LiveConnection) -> None:
        del self._by_activity[connection]

    def touch(self, connection: LiveConnection, now: float) -> None:
        connection.last_active_at = now
        self._by_activity.move_to_end(connection)

    def longest_idle(self) -> LiveConnection | None:
        """Return the connection to close first: the longest idle one without a request in flight, or else the longest
        idle.
        """
        living = [connection for connection in self._by_activity if not connection.scope.cancel_called]
        return next((connection for connection in living if not connection.in_flight), living[0] if living else None)

    def drain(self) -> None:
        """Close the connections that have no request in flight now, and the others after their response."""
        self._draining = True
        for connection in self._by_activity:
            connection.draining = True
            if not connection.in_flight:
                connection.scope.cancel(reason="plane is stopping")

    async def expire(self, max_idle_s: float, killed: Counter, clock: Clock) -> None:
        """Close connections that are idle for longer than ``max_idle_s`` by ``clock``, and parked ones without a peer,
        until cancelled.
        """
        while True:
            now = clock()
            next_at = now + min(PEER_CHECK_S, max_idle_s)
            for connection in self._by_activity:
                expires_at = connection.last_active_at + max_idle_s
                if expires_at > now:
                    next_at = min(next_at, expires_at)
                    break
                if not connection.scope.cancel_called:
                    killed.count += 1
                    connection.scope.cancel(reason="connections.max.idle.ms")
            await trio.sleep(max(_SHORTEST_SLEEP_S, next_at - now))
            await self._close_abandoned(clock)

    async def _close_abandoned(self, clock: Clock) -> None:
        """Close the connections whose request has been parked for a while and whose peer is gone.

        A peer that waits for no response may be gone: its request goes on, and those that it sent before it closed.
        """
        since = clock() - PEER_CHECK_S
        parked = [each for each in self._by_activity if each.is_awaited and each.last_active_at <= since]
        for number, connection in enumerate(parked, 1):
            # Another task ran since the list was made: the connection may have gone on, or be closed.
            is_still = connection in self._by_activity and connection.is_awaited
            if is_still and connection.transport.is_abandoned():
                connection.scope.cancel(reason="the peer has closed the connection")
            if number % _PEERS_IN_A_ROW == 0:
                await trio.lowlevel.checkpoint()
