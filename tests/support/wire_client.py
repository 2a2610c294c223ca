"""A bare connection with Kafka frames, for requests that no client library sends.

Requests and responses are kafka-python's protocol classes, so the test does not check the node with its own codec.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
from collections.abc import Iterator
from typing import Any

API_VERSIONS = 18
TIMEOUT_S = 15.0


class WireClient:
    """One socket. ``call`` is ``send`` and ``receive``; apart, they pipeline."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.correlation_ids = itertools.count(100)

    def send_bytes(self, payload: bytes) -> None:
        """One frame: its length and this payload."""
        self.connection.sendall(struct.pack(">i", len(payload)) + payload)

    def receive_bytes(self) -> bytes:
        """The payload of the next frame.

        Raises:
            EOFError: the other side closed instead.
            TimeoutError: nothing came for the socket's time.
        """
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            chunk = self.connection.recv(length - len(received))
            if not chunk:
                raise EOFError("the connection was closed")
            received += chunk
        return bytes(received)

    def send(self, request: Any, version: int) -> Any:
        """Send, and give back the header: ``receive`` wants it."""
        request.API_VERSION = version
        request.with_header(correlation_id=next(self.correlation_ids), client_id="test")
        self.send_bytes(request.encode(version=version, header=True))
        return request.header

    def receive(self, header: Any) -> Any:
        """Return the response to the request of this header, which must be the next one and have no trailing bytes.

        A response header is the correlation id, and an empty tag section if the version is flexible. ApiVersions never
        has the section, since its reader does not know the broker's versions yet.
        """
        response, version = header.get_response_class()[None], header.request_api_version
        has_tags = response.flexible_version_q(version) and header.request_api_key != API_VERSIONS
        expected = struct.pack(">i", header.correlation_id) + b"\0" * has_tags
        payload = self.receive_bytes()
        assert payload[: len(expected)] == expected
        answer = response.decode(payload[len(expected) :], version=version)
        assert answer.encode() == payload[len(expected) :]
        return answer

    def call(self, request: Any, version: int) -> Any:
        return self.receive(self.send(request, version))


@contextlib.contextmanager
def wire_client(bootstrap_servers: str, timeout_s: float = TIMEOUT_S) -> Iterator[WireClient]:
    host, port = bootstrap_servers.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
        yield WireClient(connection)
