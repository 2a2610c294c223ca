"""The bound on responses that their peers do not read."""

from __future__ import annotations

import struct

import pytest
import trio

from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.rpc.channel import Reply, Request
from tests.rpc.planes import FETCH, Peer, Running, a_plane, frame, ok, running

MIB = 1 << 20
SIZE = 16 * MIB
"""More than the sockets of both ends take from a server whose client does not read."""


async def large(request: Request) -> Reply:
    if request.api_key != FETCH:
        return await ok(request)
    data = PartitionData(records=bytes(SIZE))
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])


async def unsent(plane: Running, caplog: pytest.LogCaptureFixture, count: int, given_up: int) -> None:
    """Wait until the server sends ``count`` responses, and has given up so many."""
    gauge = plane.registry.get("kafka.network:type=RequestChannel,name=ResponseQueueSize")
    with trio.fail_after(30):
        while (gauge.value, caplog.text.count("was not read")) != (count, given_up):
            await trio.lowlevel.checkpoint()


async def received_bytes(peer: Peer) -> int:
    """Read one response, or what the server sent of it before it closed the connection."""
    count, wanted = 0, 4 + SIZE
    while count < wanted:
        try:
            data = await peer.stream.receive_some(MIB)
        except trio.BrokenResourceError:
            break
        if not data:
            break
        if count == 0:
            wanted = 4 + struct.unpack_from(">i", data)[0]
        count += len(data)
    return count


async def test_beyond_the_bound_the_responses_that_wait_longest_are_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A thousand peers that request 16 MiB and read nothing must not cost 16 GiB."""
    async with running(large, a_plane(unsent_bytes=3 * SIZE + MIB)) as plane:
        peers = [await plane.peer() for _ in range(5)]
        for number, peer in enumerate(peers):
            await peer.send_bytes(frame(number, api_key=FETCH, version=4))
            await unsent(plane, caplog, min(number + 1, 3), max(number - 2, 0))
        sizes = [await received_bytes(peer) for peer in peers]
        assert all(size < SIZE for size in sizes[:2])
        assert all(size > SIZE for size in sizes[2:])
        assert await peers[4].ask(9) == (9, 0)
        for peer in peers:
            await peer.aclose()
    assert caplog.text.count("was not read") == 2


async def test_peers_that_read_have_their_responses_however_many_they_are() -> None:
    async with running(large, a_plane(unsent_bytes=SIZE + MIB)) as plane, await plane.peer() as peer:
        for number in range(5):
            await peer.send_bytes(frame(number, api_key=FETCH, version=4))
            assert await received_bytes(peer) > SIZE


async def test_a_single_response_may_be_larger_than_the_bound() -> None:
    async with running(large, a_plane(unsent_bytes=MIB)) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1, api_key=FETCH, version=4))
        assert await received_bytes(peer) > SIZE


async def test_small_responses_are_not_counted() -> None:
    async with running(ok, a_plane(unsent_bytes=1)) as plane:
        peers = [await plane.peer() for _ in range(3)]
        for number, peer in enumerate(peers):
            assert await peer.ask(number) == (number, 0)
            await peer.aclose()
