"""Clients that are generators: each yields a request, and gets the response.

::

    def client() -> Client:
        response = yield HeartbeatRequest(...), 3

Each has a connection of its own, with one request in flight, and one loop serves them all. A client that knows its
frames in advance yields them as bytes, and costs next to nothing.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Generator, Sequence
from typing import Any

import attrs

from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.registry import request_header_version, response_class, response_header_version
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from tests.bench.load import Load

TIMEOUT_S = 60.0
RETRY_S = 0.02
NOT_LOADED = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR})
"""A coordinator answers with these until it has loaded its partition."""
FIND_COORDINATOR = 2
CLIENT_ID = b"bench"
_RECEIVE_BYTES = 1 << 20

Client = Generator[tuple[Message, int] | bytes, Any, None]
"""Yields a message with its version, and gets the response as a message; or a whole frame, and gets the response as
bytes, without its length.
"""


def frame(message: Message, version: int) -> bytes:
    """A whole request, with its length."""
    key = message.API_KEY
    tags = b"\0" if request_header_version(key, version) == 2 else b""
    head = struct.pack(f">hhih{len(CLIENT_ID)}s", key, version, 1, len(CLIENT_ID), CLIENT_ID)
    body = head + tags + encode(message, version)
    return struct.pack(">i", len(body)) + body


def read_response(key: int, version: int, payload: bytes) -> Any:
    """Decode a response, without its length."""
    message, _ = decode(response_class(key), version, payload, 5 if response_header_version(key, version) else 4)
    return message


@attrs.define(eq=False)
class _Live:
    """A client at work. ``answered_by`` is the key and version of the request under way, if it was a message."""

    client: Client
    socket: socket.socket
    received: bytearray = attrs.Factory(bytearray)
    answered_by: tuple[int, int] | None = None

    def send(self, response: Any) -> bool:
        """Give the client its response, and send its next request. Return whether there is one."""
        try:
            wanted = self.client.send(response)
        except StopIteration:
            return False
        if isinstance(wanted, bytes):
            self.answered_by = None
            self.socket.sendall(wanted)
        else:
            message, version = wanted
            self.answered_by = message.API_KEY, version
            self.socket.sendall(frame(message, version))
        return True

    def receive(self) -> Any:
        """Read what has arrived. Return the response, or None while it is not whole."""
        data = self.socket.recv(_RECEIVE_BYTES)
        if not data:
            raise RuntimeError("the broker closed a connection")
        self.received += data
        if len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:4], "big"):
            return None
        payload, self.received = bytes(self.received[4:]), bytearray()
        return payload if self.answered_by is None else read_response(*self.answered_by, payload)


def run_clients(port: int, clients: Sequence[Client]) -> Load:
    """Run all clients to their ends. The clock starts when all are connected.

    Raises:
        RuntimeError: the broker closed a connection.
        TimeoutError: nothing came for ``TIMEOUT_S``.
    """
    live = [_Live(client, _connect(port)) for client in clients]
    requests = 0
    try:
        with selectors.DefaultSelector() as selector:
            for each in live:
                selector.register(each.socket, selectors.EVENT_READ, each)
            cpu, started = time.process_time(), time.perf_counter()
            working = sum(each.send(None) for each in live)
            while working:
                ready = selector.select(TIMEOUT_S)
                if not ready:
                    raise TimeoutError(f"no response for {TIMEOUT_S} s")
                for key, _ in ready:
                    response = key.data.receive()
                    if response is not None:
                        requests += 1
                        working -= not key.data.send(response)
            elapsed = time.perf_counter() - started
            cpu = time.process_time() - cpu
    finally:
        for each in live:
            each.socket.close()
    return Load(requests, elapsed, cpu)


def call(port: int, message: Message, version: int) -> Any:
    """Send one request over a connection of its own, and return the response."""
    found: list[Any] = []

    def client() -> Client:
        found.append((yield message, version))

    run_clients(port, [client()])
    return found[0]


def check(code: int) -> None:
    """Raises: RuntimeError for an error code."""
    if code:
        raise RuntimeError(f"the broker answered with {ErrorCode(code).name}")


def find_coordinator(port: int) -> None:
    """Return once the broker coordinates groups: the first request creates the topic of the offsets.

    Raises:
        TimeoutError: it does not after ``TIMEOUT_S``.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while call(port, FindCoordinatorRequest("bench"), FIND_COORDINATOR).error_code:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no coordinator after {TIMEOUT_S} s")
        time.sleep(RETRY_S)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
