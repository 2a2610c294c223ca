"""Two ways to keep the control plane alive beside long work: one event loop with slices, or a thread with its own loop.

Each subject is a process that decodes requests of 90,000 elements without end, and answers small requests. The client
measures the waits of those. ``python -m tests.bench.planes SUBJECT`` is such a process.
"""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import trio

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.wire.codec import decode, decode_in_steps, encode
from kraft.world.garbage import short_collections
from kraft.world.slices import in_slices, pause_long_work
from tests.bench.figures import Section, Table, percentile

ELEMENTS = 90_000
VERSION = 9
SLICE = 500
REQUESTS = 1_000
PAUSE_S = 0.003
REQUEST = bytes(64)
TIMEOUT_S = 30.0
SLICES, THREAD, THREAD_AND_SLICES = "one loop, slices", "own thread", "own thread, slices"


def measure(rounds: int) -> Section:
    """Each round asks every process once."""
    table = Table("A small request beside long work", [SLICES, THREAD, THREAD_AND_SLICES])
    for _ in range(rounds):
        for name in table.subjects:
            waits = _waits(name)
            table.row("wait, p50", "ms").add(name, percentile(waits, 0.5) * 1e3)
            table.row("wait, p99", "ms").add(name, percentile(waits, 0.99) * 1e3)
            table.row("longest wait", "ms").add(name, max(waits) * 1e3)
    return Section("planes", [table])


def _waits(name: str) -> list[float]:
    with _serving(name) as port, socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waits = []
        for _ in range(REQUESTS):
            began_s = time.perf_counter()
            connection.sendall(REQUEST)
            connection.recv(len(REQUEST), socket.MSG_WAITALL)
            waits.append(time.perf_counter() - began_s)
            time.sleep(PAUSE_S)
    return waits


@contextmanager
def _serving(name: str) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.bench.planes", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


# The processes.


async def _serve() -> None:
    """Answer small requests through a queue and a handler, as a plane does."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    queue, requests = trio.open_memory_channel[tuple[trio.SocketStream, bytes]](1)

    async def connection(stream: trio.SocketStream) -> None:
        async for data in stream:
            pause_long_work()
            await queue.send((stream, data))

    async def handler() -> None:
        async for stream, data in requests:
            await stream.send_all(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(handler)
        await trio.serve_listeners(connection, [trio.SocketListener(trio.socket.from_stdlib_socket(listener))])


def _large_request() -> bytes:
    return encode(MetadataRequest([MetadataRequestTopic(name=f"t{number}") for number in range(ELEMENTS)]), VERSION)


async def _work_in_slices(data: bytes) -> None:
    while True:
        await in_slices(decode_in_steps(MetadataRequest, VERSION, data, max_elements=ELEMENTS), SLICE)


async def _one_loop() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_serve)
        nursery.start_soon(_work_in_slices, _large_request())


def _work(data: bytes) -> None:
    while True:
        decode(MetadataRequest, VERSION, data)


def _in_thread(work: Callable[[bytes], object]) -> None:
    threading.Thread(target=work, args=(_large_request(),), daemon=True).start()
    trio.run(_serve)


SUBJECTS: Mapping[str, Callable[[], None]] = {
    SLICES: lambda: trio.run(_one_loop),
    THREAD: lambda: _in_thread(_work),
    THREAD_AND_SLICES: lambda: _in_thread(lambda data: trio.run(_work_in_slices, data)),
}


if __name__ == "__main__":
    gc.freeze()
    with short_collections():
        SUBJECTS[sys.argv[1]]()
