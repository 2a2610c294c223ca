"""The live connections of one processor, in the order of their last activity (``connections.max.idle.ms``).

A request costs one ``move_to_end``; there is one timer for all connections of a processor, not one each. Activity is
a whole request that has arrived or a whole response that has left, so a peer that drips single bytes, takes no
response, or waits for an answer that never comes is idle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import attrs
import trio

from kraft.metrics import Clock, Counter
from kraft.rpc.channel import ConnectionInfo

_SHORTEST_SLEEP_S = 0.001


@attrs.define(eq=False)
class LiveConnection:
    """A connection as its processor sees it; cancelling ``scope``, that of its task, closes the connection."""

    info: ConnectionInfo
    scope: trio.CancelScope
    last_active_at: float
    in_flight: bool = False
    """A request has arrived and its response has not yet been sent."""
    draining: bool = False
    """The response in flight is the last one."""


class ConnectionTable:
    """The one owner of the order. Everything here is synchronous."""

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
        """The connection to give up first: the longest idle of those that wait for a request, else the longest idle
        of all.
        """
        living = [connection for connection in self._by_activity if not connection.scope.cancel_called]
        return next((connection for connection in living if not connection.in_flight), living[0] if living else None)

    def drain(self) -> None:
        """Close every connection that has no request in flight now, and the others after their response."""
        self._draining = True
        for connection in self._by_activity:
            connection.draining = True
            if not connection.in_flight:
                connection.scope.cancel(reason="plane is stopping")

    async def expire_idle(self, max_idle_s: float, killed: Counter, clock: Clock) -> None:
        """Close what is idle for longer than ``max_idle_s`` by ``clock``, until cancelled."""
        while True:
            now = clock()
            next_at = now + max_idle_s
            for connection in self._by_activity:
                expires_at = connection.last_active_at + max_idle_s
                if expires_at > now:
                    next_at = expires_at
                    break
                if not connection.scope.cancel_called:
                    killed.count += 1
                    connection.scope.cancel(reason="connections.max.idle.ms")
            await trio.sleep(max(_SHORTEST_SLEEP_S, next_at - now))
