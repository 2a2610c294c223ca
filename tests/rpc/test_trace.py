"""The trace events of a plane, as a request log gets them."""

from __future__ import annotations

import itertools

import pytest
import trio

from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, NO_RESPONSE, Parked, Reply, Request
from kraft.rpc.trace import RequestArrived, RequestCompleted, RequestHead
from kraft.world.trace import NO_NODE, Trace, TraceEvent
from tests.rpc.planes import HEARTBEAT, frame, ok, running


async def parked(request: Request) -> Reply:
    async def wait() -> HeartbeatResponse:
        await trio.lowlevel.checkpoint()
        return HeartbeatResponse()

    return Parked(wait)


@pytest.mark.parametrize("handle", [ok, parked])
async def test_a_request_emits_an_event_when_received_and_when_completed(handle: object) -> None:
    """With the fields of Kafka's request log: client, request, and the time of each phase."""
    heard: list[TraceEvent] = []
    trace = Trace()
    trace.subscribe(RequestArrived, heard.append)
    trace.subscribe(RequestCompleted, heard.append)
    ticks = itertools.count()
    registry = Registry(clock=lambda: float(next(ticks)))  # whatever takes time takes a second or more
    async with running(handle, registry=registry, trace=trace) as plane, await plane.peer() as peer:
        assert await peer.ask(41) == (41, 0)
        name = "127.0.0.1:{1}".format(*peer.stream.socket.getsockname())
        size = len(frame(41)) - 4
        await trio.testing.wait_all_tasks_blocked()
    received, answered = heard
    assert isinstance(received, RequestArrived)
    assert isinstance(answered, RequestCompleted)
    assert received.head == RequestHead("test", "PLAINTEXT", name, HEARTBEAT, 0, 41, "peer", size)
    assert answered.head == received.head
    assert (received.node_id, answered.node_id) == (NO_NODE, NO_NODE)
    assert received.time_s <= answered.time_s
    parts = answered.queue_s, answered.local_s, answered.response_queue_s, answered.remote_s, answered.send_s
    assert sum(parts) == answered.total_s
    assert [part > 0 for part in parts] == [True, True, True, handle is parked, True]


@pytest.mark.parametrize(("reply", "answers"), [(NO_RESPONSE, 2), (CLOSE, 0)])
async def test_a_request_without_a_response_is_completed_and_one_that_closes_is_not(reply: Reply, answers: int) -> None:
    """As the request metrics count them."""
    heard: list[RequestCompleted] = []
    trace = Trace()
    trace.subscribe(RequestCompleted, heard.append)

    async def handle(request: Request) -> Reply:
        return reply if request.correlation_id == 1 else HeartbeatResponse()

    async with running(handle, trace=trace) as plane, await plane.peer() as peer:
        await peer.send(1)
        await peer.send(2)
        assert await peer.receive() == ((2, 0) if answers else None)
        await trio.testing.wait_all_tasks_blocked()
    assert len(heard) == answers
