"""Connection quotas, through real connections (KIP-402, KIP-612)."""

from __future__ import annotations

import errno
import logging
import socket
import time
from types import SimpleNamespace
from typing import cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kraft.config.listeners import Endpoint
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.rpc.channel import Reply, Request
from kraft.rpc.connections import ConnectionTable
from kraft.rpc.quotas import PROTECTED_PLACES, TOO_MANY_OF_ADDRESS, TOO_MANY_OPEN, ConnectionLimits, ConnectionQuotas
from kraft.world.listen import Accepted, SocketSettings, TcpListener
from kraft.world.transport import Transport
from tests.rpc.planes import Peer, a_plane, running


async def test_an_address_over_its_limit_is_refused() -> None:
    """``max.connections.per.ip``, and its overrides."""
    async with running(limits=ConnectionLimits(max_connections_per_ip=1)) as plane:
        async with await plane.peer() as first:
            assert await first.ask(1) == (1, 0)
            async with await plane.peer() as second:
                assert await second.receive() is None
            assert await first.ask(2) == (2, 0)
    limits = ConnectionLimits(max_connections_per_ip=5, per_ip_overrides={"127.0.0.1": 0})
    async with running(limits=limits) as plane, await plane.peer() as peer:
        assert await peer.receive() is None


@pytest.mark.parametrize("host", ["localhost", "[0:0::1]"])
async def test_a_limit_of_a_host_counts_for_its_addresses(host: str) -> None:
    """Kafka looks the hosts up with ``InetAddress.getByName``."""
    quotas = ConnectionQuotas(ConnectionLimits(per_ip_overrides={host: 0}), time.monotonic)
    await quotas.look_up_hosts()
    assert await quotas.admit("PLAINTEXT", "::1" if host == "[0:0::1]" else "127.0.0.1") == TOO_MANY_OF_ADDRESS


async def test_an_unknown_host_of_a_limit_is_an_error() -> None:
    quotas = ConnectionQuotas(ConnectionLimits(per_ip_overrides={"nowhere.invalid": 1}), time.monotonic)
    with pytest.raises(OSError, match=r"max\.connections\.per\.ip\.overrides=nowhere\.invalid"):
        await quotas.look_up_hosts()


class Flood:
    """A listener whose backlog never empties."""

    port = 0

    def __init__(self) -> None:
        self.count = 0

    async def accept(self) -> Accepted:
        self.count += 1
        assert self.count < 1000, "no other task runs"
        return Accepted(cast(Transport, SimpleNamespace(close=lambda: None)), "127.0.0.1", 1)

    def close(self) -> None:
        pass


async def test_refused_connections_leave_time_to_other_tasks() -> None:
    flood = Flood()

    async def listen(endpoint: Endpoint, settings: SocketSettings) -> Flood:
        return flood

    async with running(limits=ConnectionLimits(max_connections_per_ip=0), listen=listen):
        while flood.count < 10:
            await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    "limits",
    [ConnectionLimits(max_connections=2), ConnectionLimits(listener_max_connections={"PLAINTEXT": 2})],
    ids=["max.connections", "listener.name.plaintext.max.connections"],
)
async def test_a_full_broker_takes_no_connection_until_one_ends(limits: ConnectionLimits) -> None:
    """``max.connections``: the acceptor blocks, so the excess waits in the backlog."""
    async with running(limits=limits) as plane, await plane.peer() as first, await plane.peer() as second:
        assert await first.ask(1) == (1, 0)
        assert await second.ask(1) == (1, 0)
        async with await plane.peer() as third:
            await third.send(3)
            await wait_all_tasks_blocked()
            assert await first.ask(2) == (2, 0)
            connections = "kafka.server:type=socket-server-metrics,name=connection-count"
            assert plane.registry.get(f"{connections},listener=PLAINTEXT,networkProcessor=0").value == 2
            await second.aclose()
            assert await third.receive() == (3, 0)


async def test_a_protected_listener_gets_room_from_the_longest_idle_connection() -> None:
    """KIP-402: the inter-broker listener is not limited by ``max.connections``; the least recently used connection of
    another listener is closed.
    """
    gate = trio.Event()

    async def handle(request: Request) -> Reply:
        if request.client_id == "busy":
            await gate.wait()
        return HeartbeatResponse()

    limits = ConnectionLimits(max_connections=2, protected_listeners=frozenset({"REPLICATION"}))
    async with running(handle, a_plane("CLIENTS", "REPLICATION"), limits=limits) as plane:
        busy, idle = await plane.peer("CLIENTS"), await plane.peer("CLIENTS")
        await busy.send(1, "busy")
        await wait_all_tasks_blocked()
        assert await idle.ask(1) == (1, 0)
        async with await plane.peer("REPLICATION") as replica:
            assert await replica.ask(1) == (1, 0)
            assert await idle.receive() is None
            gate.set()
            assert await busy.receive() == (1, 0)
        await busy.aclose()
        await idle.aclose()


async def test_connections_beyond_the_creation_rate_wait(autojump_clock: trio.testing.MockClock) -> None:
    """KIP-612: ``max.connection.creation.rate``, per broker and per listener."""
    limits = ConnectionLimits(max_creation_rate=1, protected_listeners=frozenset({"REPLICATION"}))
    quotas = ConnectionQuotas(limits, time.perf_counter)
    started_at = trio.current_time()
    assert await quotas.admit("REPLICATION", "10.0.0.1") is None
    assert await quotas.admit("REPLICATION", "10.0.0.1") is None
    assert await quotas.admit("CLIENTS", "10.0.0.1") is None
    assert trio.current_time() == started_at
    assert await quotas.admit("CLIENTS", "10.0.0.1") is None
    assert trio.current_time() > started_at
    quotas = ConnectionQuotas(ConnectionLimits(listener_creation_rate={"CLIENTS": 1}), time.perf_counter)
    started_at = trio.current_time()
    assert await quotas.admit("CLIENTS", "10.0.0.1") is None
    assert trio.current_time() == started_at
    assert await quotas.admit("CLIENTS", "10.0.0.1") is None
    assert trio.current_time() > started_at


async def test_connections_beyond_the_open_files_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    """Waiting would be no answer: idle clients could keep the others waiting for ``connections.max.idle.ms``."""
    limits = ConnectionLimits(max_open=2, protected_listeners=frozenset({"CONTROLLER"}))
    async with running(plane=a_plane("CLIENTS", "CONTROLLER"), limits=limits) as plane:
        async with await plane.peer("CLIENTS") as idle, await plane.peer("CLIENTS") as other:
            assert [await idle.ask(1), await other.ask(1)] == [(1, 0), (1, 0)]
            async with await plane.peer("CLIENTS") as third:
                assert await third.receive() is None
            assert plane.registry.get("kraft.server:type=SocketServer,name=ConnectionsRefusedPerSec").count == 1
            async with await plane.peer("CONTROLLER") as voter:
                assert await voter.ask(1) == (1, 0)
                assert await idle.receive() is None, "the longest idle client makes room for a voter"
                assert await other.ask(2) == (2, 0)
    assert TOO_MANY_OPEN in caplog.text


async def test_a_protected_listener_has_an_end_too() -> None:
    limits = ConnectionLimits(max_open=2, protected_listeners=frozenset({"CONTROLLER"}))
    quotas = ConnectionQuotas(limits, time.perf_counter)
    answers = [await quotas.admit("CONTROLLER", "10.0.0.1") for _ in range(2 + PROTECTED_PLACES + 1)]
    assert answers == [None] * (2 + PROTECTED_PLACES) + [TOO_MANY_OPEN]
    quotas.release("CONTROLLER", "10.0.0.1")
    assert await quotas.admit("CLIENTS", "10.0.0.2") == TOO_MANY_OPEN
    assert await quotas.admit("CONTROLLER", "10.0.0.1") is None


async def test_a_table_is_watched_only_while_its_processor_lives() -> None:
    quotas = ConnectionQuotas(
        ConnectionLimits(max_connections=0, protected_listeners=frozenset({"R"})), time.perf_counter
    )
    table = ConnectionTable()
    quotas.watch("C", table)
    quotas.unwatch("C", table)
    assert await quotas.admit("R", "10.0.0.1") is None
    quotas.release("R", "10.0.0.1")


class Exhausted:
    """A listening socket of a process that has no descriptor left for three attempts."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self.errors = [errno.EMFILE, errno.EMFILE, errno.ECONNABORTED, errno.ENFILE]

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        if self.errors:
            raise OSError(self.errors.pop(0), "no")
        return self.peer, ("::ffff:10.1.2.3", 4567)


async def test_running_out_of_descriptors_is_waited_out(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as peer:
        listener = TcpListener(cast(socket.socket, Exhausted(peer)), "PLAINTEXT", SocketSettings())
        accepted = await listener.accept()
    assert accepted.name == "10.1.2.3:4567"
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_more_connections_than_processors_can_hold_are_all_served() -> None:
    async with running(plane=a_plane(processors=2)) as plane:
        peers: list[Peer] = [await plane.peer() for _ in range(60)]
        for number, peer in enumerate(peers):
            await peer.send(number)
        for number, peer in enumerate(peers):
            assert await peer.receive() == (number, 0)
            await peer.aclose()
