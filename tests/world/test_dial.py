"""Outgoing connections by TCP."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import trio
import trio.testing

from kraft.world.dial import dial_by_tcp


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "10.0.0.5:9092", ""])
async def test_a_host_that_is_no_name_cannot_be_reached(host: str) -> None:
    """``dial_by_tcp``: "Raises OSError if none does, or if there is none". Another node may register any host."""
    with pytest.raises(OSError):  # noqa: PT011 (the resolver words the failure)
        await dial_by_tcp(host, 1)


class OneHost(trio.abc.HostnameResolver):
    """Knows one host, which has these ports of this machine as its addresses."""

    def __init__(self, *ports: int) -> None:
        self._ports = ports

    async def getaddrinfo(self, *_: object) -> Any:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", each)) for each in self._ports
        ]

    async def getnameinfo(self, *_: object) -> Any:
        raise NotImplementedError


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port whose listener answers no further connection, because its backlog is full."""
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        where = listener.getsockname()
        for _ in range(4):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(where)
        yield where[1]


async def test_an_address_that_does_not_answer_is_given_up_for_the_next(
    silent_port: int, autojump_clock: trio.testing.MockClock
) -> None:
    """A client tries all addresses of a host (KIP-302), and each attempt has its own time limit (KIP-601)."""
    with socket.create_server(("127.0.0.1", 0)) as live:
        trio.socket.set_custom_hostname_resolver(OneHost(silent_port, live.getsockname()[1]))
        for limit_s in (10.0, 2.0):
            with trio.fail_after(limit_s):
                transport = await dial_by_tcp("kafka", 9092)
            transport.close()


async def test_the_caller_limits_the_wait_for_the_last_address(
    silent_port: int, autojump_clock: trio.testing.MockClock
) -> None:
    trio.socket.set_custom_hostname_resolver(OneHost(silent_port, silent_port))
    with trio.move_on_after(10) as limit:
        await dial_by_tcp("kafka", 9092)
    assert limit.cancelled_caught
