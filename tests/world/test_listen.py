"""The addresses of listeners."""

from __future__ import annotations

import errno
import socket

import pytest
import trio

from kraft.config.listeners import Endpoint
from kraft.world.listen import SocketSettings, TcpListener, open_listener


async def peer_of(host: str, target: str) -> str:
    """Return the address of a peer that connects to ``target`` of a listener on ``host``, as the listener sees it."""
    listener = await open_listener(Endpoint("L", "PLAINTEXT", host, 0), SocketSettings())
    with listener, socket.create_connection((target, listener.getsockname()[1])):
        accepted = await TcpListener(listener, "L", SocketSettings()).accept()
        accepted.transport.close()
    return accepted.host


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "::0", "localhost", "127.0.0.1"])
async def test_an_ipv4_peer_reaches_every_kind_of_host(host: str) -> None:
    """``kraft.config.listeners``: "no host, 0.0.0.0 and :: mean all interfaces". A peer's address is written in its own
    family.
    """
    assert await peer_of(host, "127.0.0.1") == "127.0.0.1"


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="a machine without IPv6")
@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "::1"])
async def test_an_ipv6_peer_reaches_every_interface(host: str) -> None:
    """``open_listener``: "A host of ``EVERY_INTERFACE`` accepts IPv6 and IPv4"."""
    assert await peer_of(host, "::1") == "::1"


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
async def test_a_machine_without_ipv6_listens_with_ipv4(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``open_listener``: "and IPv4 alone on a machine without IPv6"."""
    real = socket.socket

    def without_ipv6(family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """Kernels with ``ipv6.disable=1`` have no sockets of that family."""
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return real(family, kind)

    monkeypatch.setattr("socket.socket", without_ipv6)
    with await open_listener(Endpoint("L", "PLAINTEXT", host, 0), SocketSettings()) as listener:
        assert listener.family == socket.AF_INET
        assert listener.getsockname()[0] == "0.0.0.0"


@pytest.mark.parametrize(
    ("taken", "wanted", "shown"),
    [
        ("127.0.0.1", "127.0.0.1", "M://127.0.0.1"),
        ("127.0.0.1", "", "M://"),
        ("127.0.0.1", "::", "M://[::]"),
        ("0.0.0.0", "::", "M://[::]"),
        ("::", "0.0.0.0", "M://0.0.0.0"),
    ],
)
async def test_an_address_in_use_is_an_error(taken: str, wanted: str, shown: str) -> None:
    """``open_listener``: "Raises OSError if the address cannot be bound; its ``filename`` is the endpoint".

    In Java, too, two wildcards cannot share a port.
    """
    with await open_listener(Endpoint("L", "PLAINTEXT", taken, 0), SocketSettings()) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match="in use") as refused:
            await open_listener(Endpoint("M", "PLAINTEXT", wanted, port), SocketSettings())
    assert (refused.value.errno, refused.value.filename) == (errno.EADDRINUSE, f"{shown}:{port}")


async def test_an_unknown_host_is_an_error_with_the_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    """``open_listener``: "Raises OSError if the address cannot be bound; its ``filename`` is the endpoint"."""
    with pytest.raises(OSError, match="not a host name") as refused:
        await open_listener(Endpoint("M", "PLAINTEXT", "a..b", 9092), SocketSettings())
    assert refused.value.filename == "M://a..b:9092"

    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(trio.socket, "getaddrinfo", unknown)
    with pytest.raises(OSError, match="Name or service not known") as refused:
        await open_listener(Endpoint("M", "PLAINTEXT", "nowhere", 9092), SocketSettings())
    assert refused.value.filename == "M://nowhere:9092"


async def test_buffer_sizes_of_minus_one_are_the_systems() -> None:
    """``socket.receive.buffer.bytes``: if the value is -1, the OS default will be used."""
    settings = SocketSettings(receive_buffer_bytes=-1)
    listener = await open_listener(Endpoint("L", "PLAINTEXT", "127.0.0.1", 0), settings)
    with listener, socket.socket() as fresh:
        sizes = {sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for sock in (listener, fresh)}
    assert len(sizes) == 1
