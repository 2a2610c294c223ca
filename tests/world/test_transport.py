"""A plain socket: everything arrives, from memory and from a file."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from pathlib import Path

import pytest
import trio

from kraft.wire.splice import FileSlice
from kraft.world.transport import AT_ONCE_BYTES, PlainTransport
from tests.support.steps import steps_of_this_task


async def receive(sock: socket.socket, count: int) -> bytes:
    transport = PlainTransport(sock)
    data = bytearray(count)
    filled = 0
    while filled < count and (got := await transport.receive_into(memoryview(data)[filled:])):
        filled += got
    return bytes(data[:filled])


async def test_a_file_slice_arrives_as_its_bytes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 8192
    path = tmp_path / "segment"
    path.write_bytes(content)
    ours, theirs = socket.socketpair()
    with path.open("rb") as file, ours, theirs:
        transport = PlainTransport(ours)

        async def send() -> None:
            await transport.send(b"head", more=True)
            await transport.send_file(FileSlice(file, 1000, 2_000_000))
            await transport.send(b"tail")
            transport.close()
            transport.close()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            received = await receive(theirs, 3_000_000)
    assert received == b"head" + content[1000:2_001_000] + b"tail"


async def test_a_file_slice_for_a_fast_peer_lets_other_tasks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket of a peer that reads as fast as the file is sent never fills."""
    sent = []

    def sendfile(target: int, source: int, position: int, count: int) -> int:
        sent.append(min(count, 10))
        return sent[-1]

    monkeypatch.setattr(os, "sendfile", sendfile)
    ours, theirs = socket.socketpair()
    with (tmp_path / "segment").open("wb") as file, ours, theirs:
        async with steps_of_this_task() as steps:
            await PlainTransport(ours).send_file(FileSlice(file, 0, 105))
    assert (sum(sent), len(sent)) == (105, 11)
    assert steps.count >= 10


async def test_a_file_that_is_too_short_breaks_the_connection() -> None:
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as file, ours, theirs:
        file.write(b"12345")
        file.flush()
        with pytest.raises(OSError, match="file ends at 5, 95 bytes before the end of the slice"):
            await PlainTransport(ours).send_file(FileSlice(file, 0, 100))


async def test_more_than_the_socket_holds_waits_for_the_peer() -> None:
    data = bytes(3_000_000)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(PlainTransport(ours).send, data)
            assert await receive(theirs, len(data)) == data


async def test_bytes_for_a_fast_peer_let_other_tasks_run() -> None:
    """AT_ONCE_BYTES: "The most bytes of one system call"."""
    data = bytes(5 * AT_ONCE_BYTES + 1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(True)
        reader = threading.Thread(target=lambda: [None for _ in iter(lambda: theirs.recv(1 << 16), b"")])
        reader.start()
        transport = PlainTransport(ours)
        async with steps_of_this_task() as steps:
            await transport.send(data)
        transport.close()
        reader.join()
    assert steps.count >= 5


async def test_a_closed_peer_is_the_end_or_an_error() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        transport = PlainTransport(ours)
        assert await transport.receive_into(memoryview(bytearray(10))) == 0
        with pytest.raises(BrokenPipeError):
            await transport.send(b"x")
