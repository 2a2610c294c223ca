"""The network between the nodes of a cluster, which a test can cut, in one direction or both, and slow down.

Each listener of a controller has one proxy, whose port is its address for every node: in ``controller.quorum.voters``
and among its advertised listeners, since a leader sends its followers its address. The proxy learns the source node of
a connection from the kernel: from the process that owns the other end.

A cut has the effect of an unplugged cable on TCP: the proxy refuses and closes nothing, and delivers no bytes. It
delivers them after the cut ends, however old they are.

The proxies are a process in a session of their own, as each node is, because Linux shares a busy processor among
sessions. In a thread of the test, a connection took 19 ms beside another busy thread, and 3 ms alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import attrs
import trio

from tests.support.node_process import environment

CHUNK_BYTES = 64 * 1024
QUEUED_CHUNKS = 64
"""Of one direction of one connection; then its sender waits."""
STOP_TIMEOUT_S = 10.0
DONE = b"done\n"
"""The response to each request; also printed once the proxies listen."""
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ANY = 4, 20, 1, 2**32 - 1
"""NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST; every state, and every cookie."""
_HEADER_BYTES = 16
_INODE_AT = _HEADER_BYTES + 68
"""The last field of ``inet_diag_msg``."""
STRANGER = -1
"""The other end of a connection that no node made: a tool, or the test itself. Its links are whole unless cut."""


@attrs.define(eq=False)
class Link:
    """One direction between two nodes."""

    delay_s: float = 0.0
    cut: trio.Event | None = None
    """Set when the cut ends; None without a cut."""

    async def passes(self) -> None:
        """Wait until bytes may pass; during the wait the cut may end and begin again."""
        while self.cut is not None:
            await self.cut.wait()


@attrs.define(eq=False)
class Network:
    """The links by (from, to). A change holds for connections that are there and to come."""

    _links: defaultdict[tuple[int, int], Link] = attrs.Factory(lambda: defaultdict(Link))
    _owners: dict[int, int] = attrs.Factory(dict)
    """The node by its process."""

    def belongs_to(self, node_id: int, pid: int) -> None:
        self._owners[pid] = node_id

    def cut(self, source: int, target: int) -> None:
        link = self._links[source, target]
        link.cut = link.cut or trio.Event()

    def delay(self, source: int, target: int, delay_s: float) -> None:
        self._links[source, target].delay_s = delay_s

    def heal(self) -> None:
        for link in self._links.values():
            mended, link.cut, link.delay_s = link.cut, None, 0.0
            if mended is not None:
                mended.set()

    async def carry(self, target: int, target_port: int, near: trio.SocketStream) -> None:
        """Serve one connection to ``target``, until either end has closed it and the other has seen that."""
        async with near:
            source = self._owners.get(_owner(near, self._owners), STRANGER)
            await self._links[source, target].passes()
            try:
                far = await trio.open_tcp_stream("127.0.0.1", target_port)
            except OSError:
                return
            async with far, trio.open_nursery() as nursery:

                async def one_way(link: Link, reader: trio.SocketStream, writer: trio.SocketStream) -> None:
                    await _pump(link, reader, writer)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(one_way, self._links[source, target], near, far)
                nursery.start_soon(one_way, self._links[target, source], far, near)


async def _pump(link: Link, reader: trio.SocketStream, writer: trio.SocketStream) -> None:
    """Bytes and the end of them, each after the delay and only while the link is whole."""
    send, receive = trio.open_memory_channel[tuple[float, bytes]](QUEUED_CHUNKS)

    async def read() -> None:
        async with send:
            chunk = b"more"
            while chunk:
                try:
                    chunk = await reader.receive_some(CHUNK_BYTES)
                except trio.BrokenResourceError:
                    chunk = b""
                await send.send((trio.current_time() + link.delay_s, chunk))

    async with trio.open_nursery() as nursery, receive:
        nursery.start_soon(read)
        with contextlib.suppress(trio.BrokenResourceError):
            async for due, chunk in receive:
                await trio.sleep_until(due)
                await link.passes()
                if chunk:
                    await writer.send_all(chunk)
        nursery.cancel_scope.cancel()


def _owner(stream: trio.SocketStream, pids: Iterable[int]) -> int:
    """The process, one of ``pids``, that holds the other end of this connection; STRANGER if none does."""
    wanted = f"socket:[{_inode_of_peer(stream)}]"
    for pid in list(pids):
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{descriptor}") == wanted:
                        return pid
    return STRANGER


def _inode_of_peer(stream: trio.SocketStream) -> int:
    """Return the inode of the connection's other end; 0 if it is closed.

    The kernel looks it up by its addresses (sock_diag(7)), however many sockets the machine has: its table in /proc has
    all of them, and reading it took so long beside other tests that the nodes' requests timed out.
    """
    ends = [stream.socket.getpeername(), stream.socket.getsockname()]
    address = socket.inet_aton("127.0.0.1") + bytes(12)
    wanted = struct.pack(">HH", *(port for _, port in ends)) + 2 * address + struct.pack("=III", 0, _ANY, _ANY)
    body = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(struct.pack("=IHHII", _HEADER_BYTES + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body)
        answer = kernel.recv(4096)
    (kind,) = struct.unpack_from("=H", answer, 4)
    return int(struct.unpack_from("=I", answer, _INODE_AT)[0]) if kind == _BY_FAMILY else 0


@attrs.frozen
class Door:
    """A listener of a node, and the port of its proxy."""

    node_id: int
    behind: int
    port: int


@attrs.frozen
class Links:
    """The links of a cluster, for a test. Every call returns when its change holds."""

    ports: dict[int, int]
    """The port of the proxy by the port behind it."""
    _requests: IO[bytes]
    _responses: IO[bytes]

    def belongs_to(self, node_id: int, pid: int) -> None:
        """This process is this node from now on."""
        self._request("belongs_to", node_id, pid)

    def cut(self, one: int, others: Iterable[int]) -> None:
        """Both ways."""
        for other in others:
            self.cut_one_way(one, other)
            self.cut_one_way(other, one)

    def cut_one_way(self, source: int, target: int) -> None:
        """Cut ``source`` to ``target``, on connections of both."""
        self._request("cut", source, target)

    def delay(self, source: int, target: int, delay_s: float) -> None:
        self._request("delay", source, target, delay_s)

    def heal(self) -> None:
        """Every link is whole again, and without delay."""
        self._request("heal")

    def _request(self, name: str, *values: float) -> None:
        self._requests.write(json.dumps([name, *values]).encode() + b"\n")
        self.await_response()

    def await_response(self) -> None:
        assert self._responses.readline() == DONE, "the proxies have ended; their standard error says why"


@contextlib.contextmanager
def running_links(doors: Sequence[Door]) -> Iterator[Links]:
    """Proxies for these listeners. They end with the block, or with this process."""
    command = [sys.executable, "-m", "tests.support.proxy", json.dumps([attrs.astuple(door) for door in doors])]
    with subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        links = Links({door.behind: door.port for door in doors}, process.stdin, process.stdout)
        try:
            links.await_response()
            yield links
            process.stdin.close()
            assert process.wait(STOP_TIMEOUT_S) == 0
        finally:
            process.kill()


async def _serve(doors: Iterable[Door]) -> None:
    """Serve until standard input ends. Each of its lines is a request: a method of the network, and its arguments."""
    network = Network()
    async with trio.open_nursery() as nursery, trio.lowlevel.FdStream(os.dup(0)) as requests:
        for door in doors:
            (listener,) = await trio.open_tcp_listeners(door.port, host="127.0.0.1")

            async def handle(near: trio.SocketStream, door: Door = door) -> None:
                with contextlib.suppress(OSError):
                    await network.carry(door.node_id, door.behind, near)

            nursery.start_soon(trio.serve_listeners, handle, [listener])
        os.write(1, DONE)
        rest = b""
        async for chunk in requests:
            *lines, rest = (rest + chunk).split(b"\n")
            for name, *values in map(json.loads, lines):
                getattr(network, name)(*values)
                os.write(1, DONE)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(_serve, [Door(*door) for door in json.loads(sys.argv[1])])
