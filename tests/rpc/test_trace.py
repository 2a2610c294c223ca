"""The trace events of a plane, as a request log gets them."""

from __future__ import annotations

import itertools
import random

import pytest
import trio

from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, NO_RESPONSE, ConnectionInfo, Parked, Reply, Request
from kraft.rpc.trace import RequestArrived, RequestCompleted, RequestHead, RequestSampled, Sampler
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


def asked(api_key: int, client_id: str | None = "c") -> Request:
    connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    return Request(api_key, 0, 0, client_id, b"", 0, connection)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 1.0])
def test_the_chosen_requests_stand_for_all(fraction: float) -> None:
    """The sum of 1/fraction estimates the number of requests, of a rare API as of a frequent one."""
    sampler = Sampler(fraction, random.Random(1).random)
    for api_key, requests in ((0, 200_000), (1, 5_000), (2, 1)):
        chosen = list(filter(None, (sampler.choose(asked(api_key)) for _ in range(requests))))
        assert chosen[0] == 1
        assert set(chosen[1:]) <= {fraction}
        deviation = ((1 - fraction) * requests / fraction) ** 0.5
        assert abs(sum(1 / each for each in chosen) - requests) <= 4 * deviation


def test_a_sampler_that_starts_over_chooses_the_next_request_of_each_api() -> None:
    sampler = Sampler(1e-9, random.Random(1).random)
    for _ in range(3):
        assert [sampler.choose(asked(api_key)) for api_key in (0, 1, 0, 1)] == [1, 1, 0, 0]
        sampler.start_over()


def test_a_sampler_may_choose_nothing() -> None:
    assert not any(Sampler().choose(asked(0)) for _ in range(10))
    ignoring = Sampler(1.0, random.Random(1).random, ignored_client="me")
    assert [ignoring.choose(asked(0, client)) for client in ("me", None, "you")] == [0, 1, 1]


async def test_a_sampled_request_has_the_event_of_a_completed_one() -> None:
    """No event is made for a request that the sampler does not choose."""
    heard: list[RequestSampled] = []
    trace = Trace()
    trace.subscribe(RequestSampled, heard.append)
    chances = iter([0.5, 0.1, 0.9])  # gaps of 1, 0 and 3 requests
    sampler = Sampler(0.5, lambda: next(chances, 0.99))
    async with running(ok, trace=trace, sampler=sampler) as plane, await plane.peer() as peer:
        for number in range(8):
            await peer.ask(number)
        await trio.testing.wait_all_tasks_blocked()
    assert [(each.request.head.correlation_id, each.fraction) for each in heard] == [
        (0, 1),
        (2, 0.5),
        (3, 0.5),
        (7, 0.5),
    ]
