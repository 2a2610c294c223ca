"""Other protocols, as real peers send them."""

from __future__ import annotations

import http.client
import socket
import ssl
import struct

import pytest

from kraft.rpc.foreign import foreign_protocol


def first_bytes_of_tls() -> bytes:
    """The first bytes of OpenSSL."""
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="kafka").do_handshake()
    return outgoing.read()


def first_bytes_of_http(method: str) -> bytes:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = ours
        connection.request(method, "/metrics")
        return theirs.recv(4096)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"])
def test_http(method: str) -> None:
    said = foreign_protocol(first_bytes_of_http(method))
    assert said == f"an HTTP request, '{method} /metrics HTTP/1.1'; this port speaks Kafka's protocol"


def test_tls() -> None:
    assert "TLS handshake" in (foreign_protocol(first_bytes_of_tls()) or "")


def test_a_response_or_an_alert_names_the_other_protocol() -> None:
    assert "HTTP response" in (foreign_protocol(b"HTTP/1.1 400 Bad Request\r\n") or "")
    assert "TLS alert" in (foreign_protocol(b"\x15\x03\x03\x00\x02\x02\x16") or "")


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"GEL\x00", struct.pack(">i", 2**28)])
def test_an_unknown_protocol_has_no_description(data: bytes) -> None:
    assert foreign_protocol(data) is None
