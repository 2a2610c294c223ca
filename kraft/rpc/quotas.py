"""Connection quotas: ``max.connections``, per IP, per listener, and the creation rate (KIP-402, KIP-612).

An acceptor requests admission before it gives a connection to a processor. It waits while the broker or its listener is
full, so further connections stay in the kernel's backlog. A protected listener (inter-broker, control plane) does not
wait for ``max.connections``: the longest idle connection of another listener is closed instead. A connection above the
limit of its address is refused at once, and so is one for which the process may open no file. A protected listener then
gets the place of an idle connection, and a few places of its own.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Mapping

import attrs
import trio

from kraft.metrics import Clock
from kraft.rpc.connections import ConnectionTable

UNLIMITED = 2**31 - 1
_BURST_S = 1.0
PROTECTED_PLACES = 16
"""Connections of protected listeners beyond ``max_open``, from the reserve of open files. The idle connections that
make room for them close a moment later."""

TOO_MANY_OF_ADDRESS = "too many connections from this address (max.connections.per.ip)"
TOO_MANY_OPEN = "this node has as many connections as its limit of open files (ulimit -n) allows"


@attrs.frozen
class ConnectionLimits:
    """The settings. Rates are connections per second; ``per_ip_overrides`` has addresses or host names as keys."""

    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    per_ip_overrides: Mapping[str, int] = attrs.field(factory=dict)
    listener_max_connections: Mapping[str, int] = attrs.field(factory=dict)
    max_creation_rate: int = UNLIMITED
    listener_creation_rate: Mapping[str, int] = attrs.field(factory=dict)
    protected_listeners: frozenset[str] = frozenset()
    max_open: int = UNLIMITED
    """Not a Kafka setting. The connections for which the process has open files."""


class ConnectionQuotas:
    """Counts the connections of a node, over all its planes. ``clock`` measures the rates, in seconds."""

    def __init__(self, limits: ConnectionLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._by_listener: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._of_address: dict[str, int] | None = None
        self._tables: list[tuple[str, ConnectionTable]] = []
        self._released = trio.lowlevel.ParkingLot()
        self._rate = _Rate(limits.max_creation_rate)
        self._listener_rates = {name: _Rate(rate) for name, rate in limits.listener_creation_rate.items()}

    async def look_up_hosts(self) -> None:
        """Find the addresses of the hosts that have limits of their own, once.

        Raises OSError, with the setting as its ``filename``, for a host that is unknown.
        """
        if self._of_address is None:
            self._of_address = {}
            for host, most in self._limits.per_ip_overrides.items():
                self._of_address |= dict.fromkeys(await _addresses_of(host), most)

    def watch(self, listener: str, table: ConnectionTable) -> None:
        """Allow closing connections of ``table`` when a protected listener needs room."""
        self._tables.append((listener, table))

    def unwatch(self, listener: str, table: ConnectionTable) -> None:
        self._tables.remove((listener, table))

    async def admit(self, listener: str, host: str) -> str | None:
        """Wait for room and count the connection. Return the reason, without counting it, if it is refused."""
        await self._wait_for_rate(listener)
        while not self._has_room(listener):
            await self._released.park()
        if self._by_host[host] >= (self._of_address or {}).get(host, self._limits.max_connections_per_ip):
            return TOO_MANY_OF_ADDRESS
        most = self._limits.max_open + (PROTECTED_PLACES if self._protected(listener) else 0)
        if self._by_listener.total() >= most:
            return TOO_MANY_OPEN
        self._by_listener[listener] += 1
        self._by_host[host] += 1
        if self._by_listener.total() > min(self._limits.max_connections, self._limits.max_open):
            self._make_room()
        return None

    def release(self, listener: str, host: str) -> None:
        """Count an admitted connection as closed."""
        self._by_listener[listener] -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._released.unpark_all()

    def _has_room(self, listener: str) -> bool:
        if self._by_listener[listener] >= self._limits.listener_max_connections.get(listener, UNLIMITED):
            return False
        return self._protected(listener) or self._by_listener.total() < self._limits.max_connections

    def _protected(self, listener: str) -> bool:
        return listener in self._limits.protected_listeners

    def _make_room(self) -> None:
        candidates = [table.longest_idle() for listener, table in self._tables if not self._protected(listener)]
        idle = [connection for connection in candidates if connection is not None]
        if idle:
            victim = min(idle, key=lambda connection: (connection.in_flight, connection.last_active_at))
            victim.scope.cancel(reason="max.connections: a protected listener needs room")

    async def _wait_for_rate(self, listener: str) -> None:
        now = self._clock()
        delay_s = 0.0 if self._protected(listener) else self._rate.delay_s(now)
        if listener in self._listener_rates:
            delay_s = max(delay_s, self._listener_rates[listener].delay_s(now))
        if delay_s > 0:
            await trio.sleep(delay_s)


class _Rate:
    """At most ``per_second`` events a second on average, in bursts of at most one second's events."""

    def __init__(self, per_second: int) -> None:
        self._interval_s = 1.0 / max(1, per_second)
        self._next_at = 0.0

    def delay_s(self, now: float) -> float:
        """Take the next free time and return how long until then, in seconds."""
        self._next_at = max(self._next_at, now - _BURST_S + self._interval_s)
        delay_s = max(0.0, self._next_at - now)
        self._next_at += self._interval_s
        return delay_s


async def _addresses_of(host: str) -> list[str]:
    try:
        found = await trio.socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"max.connections.per.ip.overrides={host}") from error
    return [str(address[0]) for *_, address in found]
