"""A plane on loopback, and a peer that sends raw bytes to it, for the tests of this room.

Most tests send Heartbeat version 0: its header has no tagged fields and its response is a correlation id and an error
code, so the peer here needs no codec and is an oracle of its own.
"""

from __future__ import annotations

import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import attrs
import trio

from kraft.config.listeners import Endpoint
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.rpc.trace import Sampler
from kraft.world.listen import Listen, SocketSettings, listen_by_tcp
from kraft.world.trace import Trace

HEARTBEAT = 12
API_VERSIONS = 18
FETCH = 1
APIS = {FETCH: (4, 12), HEARTBEAT: (0, 4), API_VERSIONS: (0, 3)}
UNKNOWN_SERVER_ERROR = -1

Handle = Callable[[Request], Awaitable[Reply]]


async def ok(request: Request) -> Reply:
    return HeartbeatResponse()


def unknown_server_error(request: Request, error: Exception) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=UNKNOWN_SERVER_ERROR)


def a_plane(*names: str, queue_capacity: int = 500, processors: int = 1, handlers: int = 2, **memory: int) -> Plane:
    listeners = tuple(Endpoint(name, "PLAINTEXT", "127.0.0.1", 0) for name in names or ("PLAINTEXT",))
    return attrs.evolve(Plane("test", listeners, queue_capacity, processors, handlers), **memory)


@attrs.frozen
class Running:
    """A plane that runs: ``registry`` has its metrics, ``stopping`` stops it."""

    ports: Mapping[str, int]
    registry: Registry
    stopping: trio.Event

    async def peer(self, listener: str = "PLAINTEXT") -> Peer:
        return Peer(await trio.open_tcp_stream("127.0.0.1", self.ports[listener]))


@asynccontextmanager
async def running(
    handle: Handle = ok,
    plane: Plane | None = None,
    *,
    limits: ConnectionLimits | None = None,
    quotas: ConnectionQuotas | None = None,
    settings: SocketSettings | None = None,
    registry: Registry | None = None,
    trace: Trace | None = None,
    sampler: Sampler | None = None,
    listen: Listen = listen_by_tcp,
) -> AsyncIterator[Running]:
    """Run a plane for as long as the block lasts, then stop it gracefully."""
    service = Service(
        handle=handle,
        apis=APIS,
        error_response=unknown_server_error,
        quotas=quotas or ConnectionQuotas(limits or ConnectionLimits(), time.perf_counter),
        registry=registry or Registry(),
        settings=settings or SocketSettings(),
        trace=trace or Trace(),
        sampler=sampler or Sampler(),
        listen=listen,
    )
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        bound = await nursery.start(serve, plane or a_plane(), service, stopping, name="plane")
        yield Running({name: endpoint.port for name, endpoint in bound.items()}, service.registry, stopping)
        stopping.set()


def frame(correlation_id: int, client_id: str = "peer", *, api_key: int = HEARTBEAT, version: int = 0) -> bytes:
    header = struct.pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id.encode()
    return struct.pack(">i", len(header)) + header


@attrs.define
class Peer:
    """A client that knows frames and nothing else."""

    stream: trio.SocketStream
    _unread: bytes = b""

    async def send(self, correlation_id: int, client_id: str = "peer") -> None:
        await self.stream.send_all(frame(correlation_id, client_id))

    async def send_bytes(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def receive(self) -> tuple[int, int] | None:
        """(correlation id, error code) of the next response; None where the connection is closed."""
        while len(self._unread) < 4 or len(self._unread) < 4 + struct.unpack_from(">i", self._unread)[0]:
            try:
                data = await self.stream.receive_some(65_536)
            except trio.BrokenResourceError:
                return None
            if not data:
                return None
            self._unread += data
        size, correlation_id, error_code = struct.unpack_from(">iih", self._unread)
        self._unread = self._unread[4 + size :]
        return correlation_id, error_code

    async def ask(self, correlation_id: int, client_id: str = "peer") -> tuple[int, int] | None:
        await self.send(correlation_id, client_id)
        return await self.receive()

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> Peer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stream.aclose()
