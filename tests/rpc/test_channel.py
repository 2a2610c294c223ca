"""The decoding of a request: at once, or in slices if its frame is large."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.update_metadata_request import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.rpc.channel import MAX_ELEMENTS, UNCOUNTED_ELEMENTS, ConnectionInfo, Request
from kraft.rpc.header import parse_request
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError
from tests.support.steps import steps_of_this_task

CONNECTION = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


def metadata(names: int) -> Request:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="")] * names)
    return parse_request(struct.pack(">hhih", 3, 4, 7, -1) + encode(message, 4), CONNECTION, {3: (0, 13)})


async def test_other_tasks_run_while_a_large_request_is_decoded() -> None:
    """ "Decode the body of a large frame …, in slices.\""""
    request = metadata(50_000)
    async with steps_of_this_task() as steps:
        await request.decode()
        assert steps.count == 100
        message = request.message()
        assert steps.count == 100
    assert isinstance(message, MetadataRequest)
    assert len(message.topics or ()) == 50_000
    assert request.message() is message, "it is decoded once"


async def test_a_request_of_too_many_elements_is_malformed() -> None:
    request = metadata(MAX_ELEMENTS + 1)
    with pytest.raises(DecodeError, match="MetadataRequest v4: more than 100000 elements"):
        await request.decode()


async def test_a_request_of_a_controller_may_have_all_partitions_of_a_large_cluster() -> None:
    """ControllerChannelManager: a broker that starts gets one UpdateMetadata with all partitions of the cluster."""
    state = UpdateMetadataPartitionState(isr=[1, 2, 3], replicas=[1, 2, 3])
    message = UpdateMetadataRequest(topic_states=[UpdateMetadataTopicState("t", UUID(int=1), [state] * 20_000)])
    assert MAX_ELEMENTS < 20_000 * 7
    frame = struct.pack(">hhihb", 6, 8, 7, -1, 0) + encode(message, 8)
    request = parse_request(frame, CONNECTION, {6: (7, 8)})
    await request.decode()
    decoded = request.message()
    assert isinstance(decoded, UpdateMetadataRequest)
    assert len(decoded.topic_states[0].partition_states) == 20_000


async def decoded(names: int, room: MemoryPool) -> Request:
    request = metadata(names)
    request.room = room
    await request.decode()
    return request


async def test_large_requests_count_their_elements_until_they_are_released() -> None:
    """KIP-72 for what requests become: a request is counted "as soon as any is available", and then whole."""
    room = MemoryPool(10_000)
    first = await decoded(8_000, room)
    assert first.take_room()
    assert first.take_room(), "it is counted once"
    second = await decoded(8_000, room)
    assert second.take_room()
    assert room.used == 16_000
    third = await decoded(8_000, room)
    assert not third.take_room()
    assert (await decoded(UNCOUNTED_ELEMENTS, room)).take_room(), "a small one does not wait"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(third.wait_for_room)
        await wait_all_tasks_blocked()
        first.release()
        assert room.used == 8_000
    assert room.used == 16_000
    await third.decode()
    assert third.take_room()
    for request in (first, second, third):
        request.release()
    assert room.used == 0


async def test_a_handler_of_a_connection_that_has_ended_counts_nothing() -> None:
    """Nobody would give the elements back."""
    room = MemoryPool(10_000)
    request = await decoded(8_000, room)
    request.release()
    assert request.take_room()
    await request.wait_for_room(5)
    assert room.used == 0


async def test_a_request_that_is_counted_waits_for_no_other() -> None:
    """A Fetch counts its own partitions, then those of its session. If it waited, all might wait for each other."""
    room = MemoryPool(10_000)
    requests = [await decoded(8_000, room) for _ in range(2)]
    for request in requests:
        assert request.take_room()
    with trio.fail_after(30):
        await requests[0].wait_for_room(5_000)
    assert room.used == 21_000
