"""KIP-72: the memory of large requests is bounded, and small ones do not wait for it."""

from __future__ import annotations

import struct

import trio
from trio.testing import wait_all_tasks_blocked

from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import Parked, Reply, Request
from kraft.rpc.memory_pool import UNCOUNTED_BYTES, MemoryPool
from tests.rpc.planes import HEARTBEAT, Running, a_plane, ok, running

MIB = 2**20


def large(correlation_id: int, size: int = MIB) -> bytes:
    """A request of ``size`` bytes: the server ignores bytes behind a message, as Kafka does."""
    header = struct.pack(">hhih", HEARTBEAT, 0, correlation_id, -1)
    return struct.pack(">i", size) + header + bytes(size - len(header))


def metric(plane: Running, name: str) -> float:
    return plane.registry.get(f"kafka.network:type=SocketServer,name={name}").value


async def test_large_requests_wait_while_the_pool_is_empty() -> None:
    """``queued.max.request.bytes``: "The number of queued bytes allowed before no more requests are read"."""
    gate = trio.Event()
    handled: list[int] = []

    async def handle(request: Request) -> Reply:
        handled.append(request.correlation_id)

        async def wait() -> HeartbeatResponse:
            await gate.wait()
            return HeartbeatResponse()

        return Parked(wait) if len(request.frame) > UNCOUNTED_BYTES else HeartbeatResponse()

    async with running(handle, a_plane(request_bytes=2 * MIB)) as plane, trio.open_nursery() as nursery:
        peers = [await plane.peer() for _ in range(4)]
        for number, peer in enumerate(peers):
            nursery.start_soon(peer.send_bytes, large(number))
            while len(handled) <= min(number, 1):
                await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()
        assert handled == [0, 1]
        assert (metric(plane, "MemoryPoolUsed"), metric(plane, "MemoryPoolAvailable")) == (2 * MIB, 0)
        async with await plane.peer() as small:
            assert await small.ask(9) == (9, 0), "a small request waits for no memory"
        gate.set()
        for number, peer in enumerate(peers):
            assert await peer.receive() == (number, 0)
            await peer.aclose()
        assert sorted(handled) == [0, 1, 2, 3, 9]
        await wait_all_tasks_blocked()
        assert metric(plane, "MemoryPoolUsed") == 0


async def test_the_last_request_may_exceed_the_pool() -> None:
    """KIP-72: memory is given as long as any is available, so that no request waits for ever for a full pool."""
    async with running(plane=a_plane(request_bytes=10)) as plane, await plane.peer() as peer:
        for number in range(3):
            await peer.send_bytes(large(number))
            assert await peer.receive() == (number, 0)


async def test_a_peer_that_leaves_gives_its_memory_back() -> None:
    """In the middle of a request, and while its request is refused."""
    async with running(plane=a_plane(request_bytes=MIB)) as plane:
        for data in (large(1)[:1000], struct.pack(">ih", MIB, -5) + bytes(MIB - 2)):
            peer = await plane.peer()
            await peer.send_bytes(data)
            await wait_all_tasks_blocked()
            await peer.aclose()
        async with await plane.peer() as other:
            await other.send_bytes(large(2))
            assert await other.receive() == (2, 0)


async def test_a_plane_without_a_limit_counts_but_never_waits() -> None:
    """-1 is Kafka's default."""
    registry = Registry()
    async with running(ok, registry=registry) as plane, await plane.peer() as peer:
        await peer.send_bytes(large(1, 5 * MIB))
        assert await peer.receive() == (1, 0)
        assert metric(plane, "MemoryPoolAvailable") == 2**63 - 1
    pool = MemoryPool()
    pool.take(2**40)
    assert pool.has_room
