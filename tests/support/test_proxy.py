"""A cut acts like an unplugged cable: it neither refuses nor loses bytes, and they arrive when it ends."""

from __future__ import annotations

import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.eventually import eventually
from tests.support.node_process import free_ports
from tests.support.proxy import STRANGER, Door, Links, running_links

CLIENT, SERVER = 7, 1
SILENCE_S = 0.2
TIMEOUT_S = 10.0


class Echo(socketserver.BaseRequestHandler):
    """An echo server that records the bytes before it returns them."""

    received: bytearray

    def handle(self) -> None:
        while data := self.request.recv(100):
            self.received += data
            self.request.sendall(data)


@pytest.fixture
def received() -> bytearray:
    return bytearray()


@pytest.fixture
def links(received: bytearray) -> Iterator[Links]:
    """A proxy in front of an echo; node CLIENT is this process."""
    handler = type("Noted", (Echo,), {"received": received})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        with running_links([Door(SERVER, server.server_address[1], free_ports(1)[0])]) as links:
            links.belongs_to(CLIENT, os.getpid())
            yield links
        server.shutdown()
        thread.join()


@pytest.fixture
def client(links: Links) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", *links.ports.values()), timeout=TIMEOUT_S) as client:
        client.sendall(b"first")
        assert client.recv(100) == b"first"
        yield client


def is_silent(client: socket.socket) -> bool:
    client.settimeout(SILENCE_S)
    try:
        client.recv(100)
    except TimeoutError:
        return True
    finally:
        client.settimeout(TIMEOUT_S)
    return False


def test_a_cut_delays_bytes_until_it_ends(links: Links, client: socket.socket, received: bytearray) -> None:
    links.cut(CLIENT, [SERVER])
    client.sendall(b"second")
    assert is_silent(client)
    assert received == b"first"
    links.heal()
    assert client.recv(100) == b"second"


def test_a_cut_of_one_way_lets_the_other_pass(links: Links, client: socket.socket, received: bytearray) -> None:
    links.cut_one_way(SERVER, CLIENT)
    client.sendall(b"second")
    eventually(lambda: received == b"firstsecond")
    assert is_silent(client)
    links.heal()
    assert client.recv(100) == b"second"


def test_a_new_connection_is_cut_too(links: Links) -> None:
    links.cut(CLIENT, [SERVER])
    with socket.create_connection(("127.0.0.1", *links.ports.values()), timeout=TIMEOUT_S) as client:
        client.sendall(b"hello")
        assert is_silent(client)
        links.heal()
        assert client.recv(100) == b"hello"


def test_other_nodes_are_not_in_the_cut(links: Links, client: socket.socket) -> None:
    links.cut(CLIENT + 1, [SERVER])
    links.cut(STRANGER, [SERVER])
    client.sendall(b"second")
    assert client.recv(100) == b"second"


def test_a_delay_counts_for_each_way(links: Links, client: socket.socket) -> None:
    links.delay(CLIENT, SERVER, 0.1)
    links.delay(SERVER, CLIENT, 0.1)
    sent = time.monotonic()
    client.sendall(b"second")
    assert client.recv(100) == b"second"
    assert time.monotonic() - sent >= 0.2


def test_the_end_of_a_connection_passes_through(links: Links, client: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)
    assert client.recv(100) == b""
