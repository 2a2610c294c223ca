"""Outgoing connections, by TCP. A simulation has its own ``Dial``."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

import trio

from kraft.world.transport import PlainTransport, Transport

Dial = Callable[[str, int], Awaitable[Transport]]
"""Opens a connection to (host, port)."""


async def dial_by_tcp(host: str, port: int) -> Transport:
    """Connect to the first of the host's addresses that accepts. Raises OSError if none does, or if there is none."""
    failure: OSError = OSError(f"{host} has no address")
    try:
        found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty or too long: another node may register any host
        raise failure from error
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            await trio.socket.from_stdlib_socket(sock).connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            failure = error
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return PlainTransport(sock)
    raise failure
