"""The byte stream of a connection.

A transport tries first, and waits only when the kernel has nothing: a small request costs one ``recv`` and a small
response one ``send``. One task uses a transport. :class:`PlainTransport` lets the kernel send bytes of a file; a
transport that must see every byte (TLS) reads the file instead. ``receive_into() == 0`` is the end of the stream, and
``OSError`` a lost connection.
"""

from __future__ import annotations

import os
import select
import socket
from typing import Protocol

import trio

from kraft.wire.splice import FileSlice

_PEER_CLOSED = getattr(select, "POLLRDHUP", 0)
"""Linux reports a closed peer behind unread bytes. Other systems report a reset at least."""

AT_ONCE_BYTES = 1 << 20
"""The most bytes of one system call. The kernel copies them in less than a millisecond, and enlarges the send buffer of
a fast peer to many times that.
"""


class Transport(Protocol):
    """The byte stream that the server and the client use.

    ``waited_s`` is the time for which sends have waited for the peer so far.
    """

    waited_s: float

    async def receive_into(self, buffer: memoryview) -> int:
        """Fill the front of ``buffer`` and return the number of bytes; 0 at the end of the stream.

        No other task runs between the ``recv`` and the return.
        """

    async def send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> None:
        """Send all of ``data``. ``more`` announces that another send follows at once."""

    async def send_file(self, piece: FileSlice) -> None:
        """Send bytes of a file.

        Raises OSError if the file is shorter than the slice: the peer already has the length.
        """

    def is_abandoned(self) -> bool:
        """Whether the peer has closed or reset the connection. Bytes that arrived before do not hide it."""

    def close(self) -> None:
        """Close at once. A second call does nothing."""


class PlainTransport:
    """A TCP socket without TLS. It owns ``sock``."""

    __slots__ = ("_recv_into", "_send", "_socket", "waited_s")

    def __init__(self, sock: socket.socket) -> None:
        self.waited_s = 0.0
        sock.setblocking(False)
        self._socket = sock
        self._recv_into = sock.recv_into
        self._send = sock.send

    async def receive_into(self, buffer: memoryview) -> int:
        while True:
            try:
                return self._recv_into(buffer)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._socket)

    async def send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> None:
        flags = socket.MSG_MORE if more else 0
        size, sent = len(data), 0
        is_large = size > AT_ONCE_BYTES
        while True:
            try:
                sent += self._send(memoryview(data)[sent : sent + AT_ONCE_BYTES] if sent or is_large else data, flags)
                if sent == size:
                    return
            except BlockingIOError:
                pass
            await self._wait_writable()  # also if the peer reads as fast as this sends

    async def send_file(self, piece: FileSlice) -> None:
        source, target = piece.file.fileno(), self._socket.fileno()
        position, end = piece.position, piece.position + piece.length
        while position < end:
            try:
                sent = os.sendfile(target, source, position, min(end - position, AT_ONCE_BYTES))
            except BlockingIOError:
                pass
            else:
                if sent == 0:
                    raise OSError(f"file ends at {position}, {end - position} bytes before the end of the slice")
                position += sent
                if position == end:
                    return
            await self._wait_writable()

    async def _wait_writable(self) -> None:
        began = trio.current_time()
        try:
            await trio.lowlevel.wait_writable(self._socket)
        finally:
            self.waited_s += trio.current_time() - began

    def is_abandoned(self) -> bool:
        poll = select.poll()
        poll.register(self._socket, _PEER_CLOSED)
        return bool(poll.poll(0))

    def close(self) -> None:
        if self._socket.fileno() != -1:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
