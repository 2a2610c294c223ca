"""Listening sockets, and the connections that they accept. A simulation has its own ``Listen``."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import attrs
import trio

from kraft.config.listeners import EVERY_INTERFACE, Endpoint
from kraft.world.transport import PlainTransport, Transport

logger = logging.getLogger("kraft.rpc")

_ACCEPT_BACKOFF_S = 0.1
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_IPV4_IN_IPV6 = "::ffff:"


@attrs.frozen
class SocketSettings:
    """Kafka's socket settings.

    A buffer size of -1 keeps the operating system's; ``max_idle_ms`` below 0 means no limit.
    """

    request_max_bytes: int = 104_857_600
    """``socket.request.max.bytes``"""
    send_buffer_bytes: int = -1
    """``socket.send.buffer.bytes``"""
    receive_buffer_bytes: int = 102_400
    """``socket.receive.buffer.bytes``"""
    listen_backlog: int = 50
    """``socket.listen.backlog.size``"""
    max_idle_ms: int = 600_000
    """``connections.max.idle.ms``. It also limits how long one request may take to arrive, and how long a peer may take
    to read one response.
    """
    drain_ms: int = 5_000
    """How long a stopping plane waits for its pending requests."""


@attrs.frozen
class Accepted:
    """A connection between an acceptor and a processor. The one that has it closes it."""

    transport: Transport
    host: str
    port: int

    @property
    def name(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _bind(sock: socket.socket, address: Any, endpoint: Endpoint) -> None:
    try:
        sock.bind(address)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(endpoint)) from error


async def open_listener(endpoint: Endpoint, settings: SocketSettings) -> socket.socket:
    """Open a listening, non-blocking socket. A host of ``EVERY_INTERFACE`` accepts IPv6 and IPv4, as a socket of Java
    (``ServerSocketChannel``) does, and IPv4 alone on a machine without IPv6.

    Raises OSError if the address cannot be bound; its ``filename`` is the endpoint.
    """
    if endpoint.host not in EVERY_INTERFACE:
        try:
            found = await trio.socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(endpoint)) from error
        except UnicodeError as error:  # a label that is empty or too long
            raise OSError(errno.EINVAL, "not a host name", str(endpoint)) from error
        family, address = min((family == socket.AF_INET6, family, address) for family, *_, address in found)[1:]
    elif socket.has_dualstack_ipv6():
        family, address = socket.AF_INET6, ("::", endpoint.port)
    else:
        family, address = socket.AF_INET, ("0.0.0.0", endpoint.port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # the default is net.ipv6.bindv6only
        if settings.receive_buffer_bytes > 0:  # before listen(), so that the handshake offers the larger window
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
        _bind(sock, address, endpoint)
        sock.listen(settings.listen_backlog)
    except BaseException:
        sock.close()
        raise
    return sock


class Listener(Protocol):
    """Accepts connections."""

    @property
    def port(self) -> int:
        """The bound port, also if the endpoint asked for port 0."""

    async def accept(self) -> Accepted:
        """Wait for the next connection."""

    def close(self) -> None:
        """Accept no more connections."""


Listen = Callable[[Endpoint, SocketSettings], Awaitable[Listener]]


async def listen_by_tcp(endpoint: Endpoint, settings: SocketSettings) -> Listener:
    """Listen on a TCP socket. Raises OSError if it cannot be bound."""
    return TcpListener(await open_listener(endpoint, settings), endpoint.listener, settings)


@attrs.frozen(eq=False)
class TcpListener:
    """Owns a listening socket; log lines call it ``name``."""

    sock: socket.socket
    name: str
    settings: SocketSettings

    @property
    def port(self) -> int:
        port: int = self.sock.getsockname()[1]
        return port

    def close(self) -> None:
        self.sock.close()

    async def accept(self) -> Accepted:
        """Wait for the next connection. While the process is out of file descriptors, it logs that once and keeps
        waiting.
        """
        exhausted = False
        while True:
            try:
                sock, (host, port, *_) = self.sock.accept()
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self.sock)
            except OSError as error:
                if error.errno in _OUT_OF_RESOURCES:
                    if not exhausted:
                        logger.error("%s: cannot accept connections: %s", self.name, error)
                    exhausted = True
                    await trio.sleep(_ACCEPT_BACKOFF_S)
                else:  # ECONNABORTED, EPROTO, ...: the connection was lost before it was accepted
                    await trio.lowlevel.checkpoint()
            else:
                try:
                    _configure(sock, self.settings)
                except OSError as error:
                    logger.debug("%s: connection lost: %s", self.name, error)
                    sock.close()
                    await trio.lowlevel.checkpoint()
                else:
                    return Accepted(PlainTransport(sock), host.removeprefix(_IPV4_IN_IPV6), port)


def _configure(sock: socket.socket, settings: SocketSettings) -> None:
    """Set the options of an accepted socket. Raises OSError if the peer has closed it."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if settings.send_buffer_bytes > 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)
