"""Many small requests: prebuilt Produce frames on raw sockets, so that the generator costs next to nothing.

Each connection keeps ``depth`` requests on their way. All answers of a run have one size, so a connection counts bytes
instead of parsing; the first and the last answer are looked at.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time

import attrs

from kraft.records.record import Record, encode_batch

PRODUCE_VERSION = 7
TIMEOUT_S = 60.0
_RECEIVE_BYTES = 65_536
_NOT_YET = (3, 6)
"""UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER: a topic can be in the metadata a moment before it can be led."""
_RETRY_S = 0.02


def produce_frame(topic: str, partition: int, message_bytes: int) -> bytes:
    """A whole Produce v7 request, acks=all, with one batch of one record."""
    batch = encode_batch([Record(offset=0, timestamp=int(time.time() * 1000), key=None, value=b"x" * message_bytes)])
    name = topic.encode()
    body = struct.pack(
        f">hhih5shhiih{len(name)}siii",
        0,
        PRODUCE_VERSION,
        7,
        5,
        b"bench",
        -1,
        -1,
        30_000,
        1,
        len(name),
        name,
        1,
        partition,
        len(batch),
    )
    return struct.pack(">i", len(body) + len(batch)) + body + batch


@attrs.define(eq=False)
class _Connection:
    socket: socket.socket
    frame: bytes
    to_send: int
    to_receive: int
    received_bytes: int = 0
    unsent: bytes = b""

    def send(self, count: int) -> None:
        """Put up to ``count`` more requests on the way."""
        count = min(count, self.to_send)
        self.to_send -= count
        data = self.unsent + self.frame * count
        if not data:
            return
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        self.unsent = data[sent:]


@attrs.frozen
class Load:
    """The results of a run of the generator."""

    requests: int
    elapsed_s: float
    generator_cpu_s: float

    @property
    def per_s(self) -> float:
        return self.requests / self.elapsed_s


def run_load(
    port: int, topic: str, partitions: int, *, connections: int, requests: int, depth: int, message_bytes: int
) -> Load:
    """Send ``requests`` over ``connections``, each to one partition, and wait for all answers.

    Raises:
        RuntimeError: an answer carries an error code, or a connection was closed.
        TimeoutError: nothing came for ``TIMEOUT_S``.
    """
    each = -(-requests // connections)
    live = [
        _Connection(_connect(port), produce_frame(topic, index % partitions, message_bytes), each, each)
        for index in range(connections)
    ]
    try:
        size = _first_answers(live)
        with selectors.DefaultSelector() as selector:
            for connection in live:
                connection.socket.setblocking(False)
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            cpu, started = time.process_time(), time.perf_counter()
            for connection in live:
                connection.send(depth)
            waiting = len(live)
            while waiting:
                ready = selector.select(TIMEOUT_S)
                if not ready:
                    raise TimeoutError(f"no answer for {TIMEOUT_S} s")
                for key, _ in ready:
                    waiting -= _answered(key.data, size)
            elapsed = time.perf_counter() - started
            cpu = time.process_time() - cpu
    finally:
        for connection in live:
            connection.socket.close()
    return Load(each * connections, elapsed, cpu)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _first_answers(live: list[_Connection]) -> int:
    """One request over each connection before the clock starts; the size of an answer, its length field included."""
    size = 0
    deadline = time.monotonic() + TIMEOUT_S
    for connection in live:
        while True:
            connection.socket.sendall(connection.frame)
            (length,) = struct.unpack(">i", connection.socket.recv(4, socket.MSG_WAITALL))
            answer = connection.socket.recv(length, socket.MSG_WAITALL)
            if error_code(answer) not in _NOT_YET or time.monotonic() > deadline:
                break
            time.sleep(_RETRY_S)
        check(answer)
        size = length + 4
    return size


def error_code(answer: bytes) -> int:
    """The error code of the one partition in a Produce v7 answer."""
    # Correlation id, number of topics, name, number of partitions, index: the error code comes next.
    (name_length,) = struct.unpack_from(">h", answer, 8)
    (code,) = struct.unpack_from(">h", answer, 10 + name_length + 8)
    return int(code)


def check(answer: bytes) -> None:
    """Raises: RuntimeError if an answer carries an error code."""
    code = error_code(answer)
    if code:
        raise RuntimeError(f"the broker answered with error code {code}")


def _answered(connection: _Connection, size: int) -> bool:
    """Read the available responses, and send as many requests. Return whether this was the connection's last
    response.
    """
    data = connection.socket.recv(_RECEIVE_BYTES)
    if not data:
        raise RuntimeError("the broker closed a connection")
    connection.received_bytes += len(data)
    whole = connection.received_bytes // size
    if not whole:
        return False
    connection.received_bytes -= whole * size
    connection.to_receive -= whole
    if connection.to_receive == 0:
        if len(data) >= size:
            check(data[4 - size :])
        return True
    connection.send(whole)
    return False
