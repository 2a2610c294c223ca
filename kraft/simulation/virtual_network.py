"""A network in memory for whole nodes in one ``trio.run``: connections with delays, and links that can be cut.

A node gets its ``listen`` and ``dial`` from here instead of TCP. All layers above them are real. Bytes on a cut link
wait until it heals, as TCP retransmits them. No connection can be opened through a cut link. A node that works sends
nothing before the work is done.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import attrs
import trio

from kraft.config.listeners import Endpoint
from kraft.wire.splice import FileSlice
from kraft.world.clock import Clock
from kraft.world.dial import Dial
from kraft.world.listen import Accepted, Listen, Listener, SocketSettings
from kraft.world.transport import Transport
from kraft.world.uuids import random_uuid
from kraft.world.world import InThread, World

_BUFFER_BYTES = 2**20
_BACKLOG = 50
_FIRST_PORT = 10_000
_BEGINNING_MS = 1_700_000_000_000

Seconds = Callable[[], float]
"""The virtual clock as a node sees it (``virtual_time.Process.now``)."""


@attrs.frozen
class VirtualClock(Clock):
    """A wall clock that advances with the virtual clock of a node."""

    seconds: Seconds = trio.current_time

    def now_ms(self) -> int:
        return _BEGINNING_MS + int(self.seconds() * 1000)

    def now_s(self) -> float:
        return _BEGINNING_MS / 1000 + self.seconds()


async def at_once(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work of a worker thread in no virtual time."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)


class VirtualNetwork:
    """Hosts by name. Each piece of data has a delay in the range ``delay_s`` (seconds), drawn from ``seed``.

    ``delay_s`` may change at any time. No piece overtakes another one of its connection.
    """

    def __init__(self, seed: int = 0, delay_s: tuple[float, float] = (0.0002, 0.002)) -> None:
        self._random = Random(seed)
        self._random_of_nodes = Random(seed)
        self.delay_s = delay_s
        self._listeners: dict[tuple[str, int], VirtualListener] = {}
        self._cut: set[tuple[str, str]] = set()
        self._ports = itertools.count(_FIRST_PORT)
        self._numbers: dict[str, int] = {}
        self._pipes: list[Pipe] = []
        self.healed = trio.Event()

    def world(self, host: str, in_thread: InThread, seconds: Seconds = trio.current_time) -> World:
        """Return the world of a node on ``host``, whose clock is ``seconds``. All nodes draw from one random generator,
        in the order of their calls.

        ``in_thread`` replaces worker threads, which virtual time does not see.
        """
        rng = self._random_of_nodes
        return World(
            clock=VirtualClock(seconds=seconds),
            seconds=seconds,
            random=rng,
            new_uuid=lambda: random_uuid(lambda: UUID(int=rng.getrandbits(128), version=4)),
            listen=self.listen(host, seconds),
            dial=self.dial(host, seconds),
            in_thread=in_thread,
            compute=in_thread,
            let_go=lambda: None,
            watch_steps=lambda *_: contextlib.nullcontext(),  # no step takes virtual time
        )

    def listen(self, host: str, seconds: Seconds = trio.current_time) -> Listen:
        """Return the ``listen`` function for a node on ``host``."""

        async def listen(endpoint: Endpoint, settings: SocketSettings) -> Listener:
            await trio.lowlevel.checkpoint()
            address = host, endpoint.port or next(self._ports)
            if address in self._listeners:
                raise OSError(f"{address} is in use")
            self._listeners[address] = listener = VirtualListener(self, *address, seconds)
            return listener

        return listen

    def dial(self, host: str, seconds: Seconds = trio.current_time) -> Dial:
        """Return the ``dial`` function for a node on ``host``."""

        async def dial(to: str, port: int) -> Transport:
            while (host, to) in self._cut or (to, host) in self._cut:
                await self.healed.wait()
            await trio.sleep(self.delay())
            listener = self._listeners.get((to, port))
            if listener is None:
                raise ConnectionRefusedError(f"no node listens on {to}:{port}")
            there, back = Pipe(self, host, to, seconds), Pipe(self, to, host, listener.seconds)
            self._pipes = [pipe for pipe in self._pipes if not pipe.target_closed] + [there, back]
            try:
                accepted = Accepted(VirtualTransport(there, back), self._address(host), next(self._ports))
                await listener.arriving.send(accepted)
            except trio.BrokenResourceError:
                raise ConnectionResetError(f"{to}:{port} was closed") from None
            return VirtualTransport(back, there)

        return dial

    def _address(self, host: str) -> str:
        """Return the IP address of a host, which is in envelopes (KIP-590)."""
        number = self._numbers.setdefault(host, len(self._numbers) + 1)
        return f"10.0.{number >> 8}.{number & 255}"

    def cut(self, *pairs: tuple[str, str]) -> None:
        """Cut the link from the first to the second host of each pair."""
        self._cut.update(pairs)

    def isolate(self, host: str, others: list[str]) -> None:
        """Cut every link of ``host`` in both directions."""
        for other in others:
            self.cut((host, other), (other, host))

    def heal(self, *pairs: tuple[str, str]) -> None:
        """Heal the links of these pairs, or all links."""
        self._cut.difference_update(pairs or set(self._cut))
        self.healed.set()
        self.healed = trio.Event()
        for pipe in self._pipes:
            pipe.change()

    def reset(self, host: str) -> None:
        """Break every connection of ``host``. Data in flight is lost."""
        for pipe in self._pipes:
            if host in (pipe.source, pipe.target):
                pipe.source_closed = pipe.target_closed = True
                pipe.change()

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    def delay(self) -> float:
        return self._random.uniform(*self.delay_s)

    def forget(self, listener: VirtualListener) -> None:
        self._listeners.pop((listener.host, listener.port), None)


class VirtualListener:
    """A listening host and port."""

    def __init__(self, network: VirtualNetwork, host: str, port: int, seconds: Seconds) -> None:
        self._network = network
        self.host = host
        self.seconds = seconds
        self._port = port
        self.arriving, self._arrived = trio.open_memory_channel[Accepted](_BACKLOG)

    @property
    def port(self) -> int:
        return self._port

    async def accept(self) -> Accepted:
        return await self._arrived.receive()

    def close(self) -> None:
        self._network.forget(self)
        with contextlib.suppress(trio.WouldBlock):
            while True:
                self._arrived.receive_nowait().transport.close()
        self._arrived.close()


@attrs.define(eq=False)
class Pipe:
    """Bytes in flight from one host to another, in pieces with arrival times."""

    network: VirtualNetwork
    source: str
    target: str
    seconds: Seconds
    """The clock of the source: a step sends after the work that it has done."""
    pieces: deque[tuple[float, bytes]] = attrs.Factory(deque)
    waiting_bytes: int = 0
    last_arrival: float = -math.inf
    source_closed: bool = False
    target_closed: bool = False
    changed: trio.Event = attrs.Factory(trio.Event)

    def change(self) -> None:
        self.changed.set()
        self.changed = trio.Event()

    async def put(self, data: bytes) -> None:
        while self.waiting_bytes >= _BUFFER_BYTES and not (self.target_closed or self.source_closed):
            await self.changed.wait()
        if self.target_closed or self.source_closed:
            raise BrokenPipeError(f"the connection from {self.source} to {self.target} is closed")
        self.last_arrival = max(self.last_arrival, self.seconds() + self.network.delay())
        self.pieces.append((self.last_arrival, data))
        self.waiting_bytes += len(data)
        self.change()

    async def take(self, buffer: memoryview) -> int:
        """Fill the front of ``buffer`` and return the number of bytes: 0 at the end of the stream."""
        while True:
            if self.target_closed:
                raise ConnectionResetError(f"{self.target} has closed the connection")
            if self.network.is_cut(self.source, self.target):
                await self._wait(math.inf)
            elif self.pieces and self.pieces[0][0] <= trio.current_time():
                return self._pop(buffer)
            elif self.pieces:
                await self._wait(self.pieces[0][0])
            elif self.source_closed:
                return 0
            else:
                await self._wait(math.inf)

    async def _wait(self, until: float) -> None:
        with trio.move_on_at(until):
            await self.changed.wait()

    def _pop(self, buffer: memoryview) -> int:
        arrival, data = self.pieces.popleft()
        count = min(len(data), len(buffer))
        buffer[:count] = data[:count]
        if count < len(data):
            self.pieces.appendleft((arrival, data[count:]))
        self.waiting_bytes -= count
        self.change()
        return count


class VirtualTransport:
    """One end of a connection. It reads from ``inward`` and writes to ``outward``."""

    def __init__(self, inward: Pipe, outward: Pipe) -> None:
        self._inward = inward
        self._outward = outward
        self.waited_s = 0.0

    async def receive_into(self, buffer: memoryview) -> int:
        return await self._inward.take(buffer)

    async def send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> None:
        await self._put(bytes(data))

    async def send_file(self, piece: FileSlice) -> None:
        data = piece.copy()
        if len(data) < piece.length:
            raise OSError(f"file ends {piece.length - len(data)} bytes before the end of the slice")
        await self._put(data)

    async def _put(self, data: bytes) -> None:
        began = trio.current_time()
        try:
            await self._outward.put(data)
        finally:
            self.waited_s += trio.current_time() - began

    def is_abandoned(self) -> bool:
        return self._inward.source_closed

    def close(self) -> None:
        self._outward.source_closed = True
        self._inward.target_closed = True
        self._outward.change()
        self._inward.change()
