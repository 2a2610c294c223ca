"""The addresses of listeners."""

from __future__ import annotations

import socket

import pytest

from kraft.config.listeners import Endpoint
from kraft.world.listen import SocketSettings, TcpListener, open_listener


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1"])
async def test_an_ipv4_peer_reaches_every_kind_of_host(host: str) -> None:
    """``listeners``: no host is every interface. A peer's address is written in its own family."""
    listener = await open_listener(Endpoint("L", "PLAINTEXT", host, 0), SocketSettings())
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        accepted = await TcpListener(listener, "L", SocketSettings()).accept()
        accepted.transport.close()
    assert accepted.host == "127.0.0.1"


async def test_an_address_in_use_is_an_error() -> None:
    listener = await open_listener(Endpoint("L", "PLAINTEXT", "127.0.0.1", 0), SocketSettings())
    with listener, pytest.raises(OSError, match="in use"):
        await open_listener(Endpoint("M", "PLAINTEXT", "127.0.0.1", listener.getsockname()[1]), SocketSettings())


async def test_buffer_sizes_of_minus_one_are_the_systems() -> None:
    """``socket.receive.buffer.bytes``: if the value is -1, the OS default will be used."""
    settings = SocketSettings(receive_buffer_bytes=-1)
    listener = await open_listener(Endpoint("L", "PLAINTEXT", "127.0.0.1", 0), settings)
    with listener, socket.socket() as fresh:
        sizes = {sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for sock in (listener, fresh)}
    assert len(sizes) == 1
