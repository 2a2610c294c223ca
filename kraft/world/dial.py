"""Outgoing connections, by TCP. A simulation has its own ``Dial``."""

from __future__ import annotations

import math
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from kraft.world.transport import PlainTransport, Transport

Dial = Callable[[str, int], Awaitable[Transport]]
"""Opens a connection to (host, port)."""


_NEXT_ADDRESS_AFTER_S: Final = 2.0
"""Not a Kafka setting. The longest wait for one address of a host while it has others."""


async def dial_by_tcp(host: str, port: int) -> Transport:
    """Connect to the first of the host's addresses that accepts (KIP-302).

    An address that does not answer is given up for the next one, which gets its share of the caller's time. Raises
    OSError if none accepts, or if there is none.
    """
    failure: OSError = OSError(f"{host} has no address")
    try:
        found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty or too long: another node may register any host
        raise failure from error
    for number, (family, kind, protocol, _, address) in enumerate(found, 1):
        sock = socket.socket(family, kind, protocol)
        try:
            with trio.fail_after(_time_for_one_of(1 + len(found) - number)):
                sock.setblocking(False)
                await trio.socket.from_stdlib_socket(sock).connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except trio.TooSlowError:
            sock.close()
        except OSError as error:
            failure = error
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return PlainTransport(sock)
    raise failure


def _time_for_one_of(addresses: int) -> float:
    """Return the seconds for the next of so many addresses. The caller limits the wait for the last one."""
    if addresses == 1:
        return math.inf
    left_s = trio.current_effective_deadline() - trio.current_time()
    return min(_NEXT_ADDRESS_AFTER_S, max(left_s, 0) / addresses)
