"""The time of a request through a plane whose handler does nothing. A script, not a test: ``python
tests/rpc/bench_echo.py``.

The client is a plain socket in a process of its own, so the figures are those of the server and of the kernel.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import pstats
import selectors
import socket
import struct
import time

import trio

from kraft.config.listeners import Endpoint
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve

HEARTBEAT, VERSION = 12, 4
LOADS = ((1, 100, 10_000), (50, 100, 20_000), (1, 20_000, 5_000), (1, 1_000_000, 500))
"""(connections, bytes, rounds)"""
HEADER = struct.pack(">hhih", HEARTBEAT, VERSION, 7, 4) + b"echo" + b"\0"


def client(port: int, connections: int, body_bytes: int, rounds: int) -> None:
    """Keep one request in flight on each connection; print microseconds per round trip."""
    frame = struct.pack(">i", len(HEADER) + body_bytes) + HEADER + bytes(body_bytes)
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(sock, selectors.EVENT_READ)
        sock.sendall(frame)
    times: list[float] = []
    sent_at = {key.fd: time.perf_counter() for key in selector.get_map().values()}
    started_at = time.perf_counter()
    while len(times) < rounds:
        for key, _ in selector.select():
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            if not peer.recv(4096):
                raise SystemExit("server closed the connection")
            now = time.perf_counter()
            times.append(now - sent_at[key.fd])
            sent_at[key.fd] = now
            peer.sendall(frame)
    elapsed = time.perf_counter() - started_at
    times.sort()
    rate = len(times) / elapsed
    p50, p99 = (times[int(len(times) * q)] * 1e6 for q in (0.5, 0.99))
    volume = rate * len(frame) / 1e6
    print(f"{connections:4} connections {len(frame):8} bytes: {1e6 / rate:7.1f} us per request,", end=" ")
    print(f"p50 {p50:.0f} us, p99 {p99:.0f} us, {rate:.0f}/s, {volume:.0f} MB/s", flush=True)


async def main(profile: bool) -> None:
    async def handle(request: Request) -> Reply:
        return HeartbeatResponse()

    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        service = Service(
            handle=handle,
            apis={HEARTBEAT: (0, VERSION)},
            error_response=lambda request, error: CLOSE,
            quotas=ConnectionQuotas(ConnectionLimits(), time.perf_counter),
            registry=Registry(),
        )
        plane = Plane("data", (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),))
        endpoints = await nursery.start(serve, plane, service, stopping)
        port = endpoints["PLAINTEXT"].port
        for connections, body_bytes, rounds in LOADS:
            process = multiprocessing.get_context("spawn").Process(
                target=client, args=(port, connections, body_bytes, rounds)
            )
            process.start()
            cpu = time.process_time()
            profiler = cProfile.Profile()
            if profile:
                profiler.enable()
            await trio.to_thread.run_sync(process.join)
            if profile:
                profiler.disable()
                pstats.Stats(profiler).sort_stats("tottime").print_stats(22)
            print(f"     server CPU {(time.process_time() - cpu) / rounds * 1e6:.1f} us per request")
        stopping.set()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true")
    trio.run(main, parser.parse_args().profile)
