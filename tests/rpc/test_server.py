"""The socket server: KIP-291's planes, order, backpressure, errors, stop."""

from __future__ import annotations

import logging
import socket
import struct
import weakref
from collections import Counter
from typing import cast

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc import connections, server
from kraft.rpc.channel import CLOSE, NO_RESPONSE, Parked, Reply, Request, ResponseAction
from kraft.rpc.plane import control_plane
from kraft.wire.decode_error import DecodeError
from kraft.world.listen import SocketSettings
from kraft.world.slices import next_slice
from kraft.world.transport import PlainTransport
from tests.rpc.planes import API_VERSIONS, a_plane, frame, ok, running


async def test_a_full_data_queue_cannot_delay_control_requests() -> None:
    """KIP-291: "Controller requests will not longer be blocked by data requests"."""
    release = trio.Event()

    async def stuck(request: Request) -> Reply:
        await release.wait()
        return HeartbeatResponse()

    registry = Registry()
    data = a_plane("DATA", queue_capacity=2, handlers=1)
    control = control_plane(a_plane("CONTROL").listeners)
    assert (control.queue_capacity, control.processors, control.handlers) == (20, 1, 1)
    async with running(stuck, data, registry=registry) as data_plane, running(ok, control, registry=registry) as other:
        peers = [await data_plane.peer("DATA") for _ in range(5)]
        for number, peer in enumerate(peers):
            await peer.send(number)
        await wait_all_tasks_blocked()
        queue_size = registry.get("kafka.network:type=RequestChannel,name=RequestQueueSize")
        assert queue_size.value == 2
        assert registry.get("kafka.network:type=RequestChannel,name=ControlPlaneRequestQueueSize").value == 0
        async with await other.peer("CONTROL") as controller:
            assert await controller.ask(99) == (99, 0)
        assert queue_size.value == 2
        release.set()
        for number, peer in enumerate(peers):
            assert await peer.receive() == (number, 0)
            await peer.aclose()


class Steps(trio.abc.Instrument):
    """Counts the steps of all tasks."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


class Rounds(trio.abc.Instrument):
    """Counts the rounds of the scheduler."""

    count = 0

    def before_io_wait(self, timeout: float) -> None:
        self.count += 1


async def handled_at_each(ticks: Steps | Rounds, *, requests: int, handlers: int, turn_s: float) -> list[int]:
    """How many requests are handled at each tick that handles any, if one takes ``turn_s`` and all are queued first."""
    now_s = 0.0
    release = trio.Event()
    handled_at: list[int] = []

    async def costly(request: Request) -> Reply:
        nonlocal now_s
        if not release.is_set():
            await release.wait()
        now_s += turn_s
        handled_at.append(ticks.count)
        return HeartbeatResponse()

    async with running(costly, a_plane(handlers=handlers), registry=Registry(clock=lambda: now_s)) as plane:
        peers = [await plane.peer() for _ in range(requests)]
        for number, peer in enumerate(peers):
            await peer.send(number)
        await wait_all_tasks_blocked()
        trio.lowlevel.add_instrument(ticks)
        release.set()
        for number, peer in enumerate(peers):
            assert await peer.receive() == (number, 0)
            await peer.aclose()
        trio.lowlevel.remove_instrument(ticks)
    return list(Counter(handled_at).values())


async def test_a_handler_takes_queued_requests_until_its_turn_is_over() -> None:
    """HANDLER_SLICE_S: "lets other tasks run after this time, also if more requests are queued"."""
    handled = await handled_at_each(Steps(), requests=10, handlers=1, turn_s=server.HANDLER_SLICE_S * 0.4)
    assert handled == [3, 3, 3, 1]


async def test_one_of_the_handlers_whose_turn_is_over_continues_in_each_round() -> None:
    """_Handler: "other tasks wait for one slice, and not for one of each handler"."""
    first, *others = await handled_at_each(Rounds(), requests=12, handlers=4, turn_s=server.HANDLER_SLICE_S * 1.1)
    assert (first, set(others)) == (4, {1})


@attrs.define
class LongRequests:
    """Handles the requests of the client "long" until ``ends``, in slices, and all others at once."""

    ends: trio.Event = attrs.Factory(trio.Event)
    begun: int = 0
    working: int = 0

    async def __call__(self, request: Request) -> Reply:
        if request.client_id == "long":
            self.begun += 1
            await next_slice()
            self.working += 1
            while not self.ends.is_set():
                await next_slice()
            self.working -= 1
        return HeartbeatResponse()


async def test_short_requests_do_not_wait_for_the_end_of_long_ones() -> None:
    """_Handler: "short requests wait for the first slice of long ones only", however many of them there are."""
    work = LongRequests()
    async with running(work, a_plane(handlers=2)) as plane:
        long = [await plane.peer() for _ in range(5)]
        for number, peer in enumerate(long):
            await peer.send(number, "long")
        async with await plane.peer() as short:
            with trio.fail_after(5):
                while work.begun < len(long):
                    assert await short.ask(99) == (99, 0)
                assert await short.ask(100) == (100, 0)
        assert work.working == 2, "as many at a time as the plane has handlers: each has a response in memory"
        work.ends.set()
        for number, peer in enumerate(long):
            assert await peer.receive() == (number, 0)
            await peer.aclose()


async def test_a_handler_that_left_its_place_takes_no_other_request() -> None:
    """_Handler: "this one ends with its request", so a request that it took would have no response."""
    now_s = 0.0
    release = trio.Event()

    async def handle(request: Request) -> Reply:
        nonlocal now_s
        await release.wait()
        if request.client_id == "long":
            await next_slice()
        now_s += server.HANDLER_SLICE_S
        return HeartbeatResponse()

    with trio.fail_after(5):
        async with running(handle, a_plane(handlers=2), registry=Registry(clock=lambda: now_s)) as plane:
            peers = [await plane.peer() for _ in range(20)]
            for number, peer in enumerate(peers):
                await peer.send(number, "short" if number else "long")
                await wait_all_tasks_blocked()
            release.set()
            for number, peer in enumerate(peers):
                assert await peer.receive() == (number, 0)
                await peer.aclose()


async def test_a_single_handler_has_one_request_at_a_time() -> None:
    """KIP-291: the control plane has one handler, which keeps the order of the controller's requests."""
    work = LongRequests()
    async with running(work, a_plane(handlers=1)) as plane:
        async with await plane.peer() as long, await plane.peer() as short:
            await long.send(1, "long")
            while not work.working:
                await trio.lowlevel.checkpoint()
            await short.send(2)
            queue_size = plane.registry.get("kafka.network:type=RequestChannel,name=RequestQueueSize")
            while not queue_size.value:
                await trio.lowlevel.checkpoint()
            for _ in range(20):
                await trio.lowlevel.checkpoint()
            assert queue_size.value == 1
            work.ends.set()
            assert await long.receive() == (1, 0)
            assert await short.receive() == (2, 0)


async def test_a_stop_ends_long_requests_and_those_that_wait_for_them() -> None:
    """serve: "Cancelling serve ends everything at once", and ``drain_ms`` bounds a stop."""
    work = LongRequests()
    with trio.fail_after(5):
        async with running(work, a_plane(handlers=2), settings=SocketSettings(drain_ms=1)) as plane:
            long = [await plane.peer() for _ in range(5)]
            for number, peer in enumerate(long):
                await peer.send(number, "long")
            while work.begun < len(long):
                await trio.lowlevel.checkpoint()
        for peer in long:
            await peer.aclose()


async def test_pipelined_requests_are_answered_in_order() -> None:
    """The protocol guide: requests are processed in the order they are sent on one connection and responses return in
    that order.
    """
    gate = trio.Event()

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            await gate.wait()
            return HeartbeatResponse(error_code=1)

        return Parked(wait) if request.client_id == "slow" else HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1, "slow") + frame(2) + frame(3))
        await wait_all_tasks_blocked()
        gate.set()
        assert [await peer.receive() for _ in range(3)] == [(1, 1), (2, 0), (3, 0)]


async def test_a_parked_request_holds_no_handler() -> None:
    gate = trio.Event()

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            await gate.wait()
            return HeartbeatResponse(error_code=27)

        return Parked(wait) if request.client_id == "join" else HeartbeatResponse()

    async with running(handle, a_plane(handlers=1)) as plane, await plane.peer() as joining, await plane.peer() as peer:
        await joining.send(1, "join")
        await wait_all_tasks_blocked()
        assert await peer.ask(2) == (2, 0)
        gate.set()
        assert await joining.receive() == (1, 27)


async def test_a_request_without_response_is_followed_by_the_next() -> None:
    """Produce with acks=0: the server sends nothing."""

    async def handle(request: Request) -> Reply:
        return NO_RESPONSE if request.client_id == "acks=0" else HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send(1, "acks=0")
        await peer.send(2, "acks=0")
        assert await peer.ask(3) == (3, 0)


async def test_a_handler_may_close_the_connection() -> None:
    async def handle(request: Request) -> Reply:
        return CLOSE

    async with running(handle) as plane, await plane.peer() as peer:
        assert await peer.ask(1) is None


async def test_a_request_without_a_living_handler_closes_its_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As when a node is cut off: its handlers may be gone a moment before its connections."""

    async def gone(handler: server._Handler) -> None:
        await handler.requests.aclose()

    monkeypatch.setattr(server._Handler, "run", gone)
    async with running(ok) as plane, await plane.peer() as peer:
        assert await peer.ask(1) is None
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_requests_beyond_the_queue_wait_in_their_connections() -> None:
    """``queued.max.requests``: the number of requests allowed before the network threads block."""
    release = trio.Event()
    handled: list[int] = []

    async def handle(request: Request) -> Reply:
        handled.append(request.correlation_id)
        await release.wait()
        return HeartbeatResponse()

    async with running(handle, a_plane(queue_capacity=1, handlers=1)) as plane:
        peers = [await plane.peer() for _ in range(4)]
        for number, peer in enumerate(peers):
            await peer.send(number)
            await wait_all_tasks_blocked()
        assert handled == [0]
        assert plane.registry.get("kafka.network:type=RequestChannel,name=RequestQueueSize").value == 1
        release.set()
        for number, peer in enumerate(peers):
            assert await peer.receive() == (number, 0)
            await peer.aclose()
    assert handled == [0, 1, 2, 3]


@pytest.mark.parametrize("is_parked", [False, True])
async def test_an_idle_connection_keeps_no_request_in_memory(is_parked: bool) -> None:
    """A request may have 100 MiB. Neither its connection nor its handler may keep it until the next one."""
    received: list[weakref.ref[Request]] = []

    async def handle(request: Request) -> Reply:
        received.append(weakref.ref(request))

        async def wait() -> HeartbeatResponse:
            assert request.supported
            return HeartbeatResponse()

        return Parked(wait) if is_parked else HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        assert await peer.ask(1) == (1, 0)
        await wait_all_tasks_blocked()
        assert [each() for each in received] == [None]


async def test_a_failed_handler_is_logged_once_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(request: Request) -> Reply:
        if request.client_id == "parked":

            async def wait() -> HeartbeatResponse:
                raise RuntimeError("later")

            return Parked(wait)
        if request.client_id == "nothing":
            return cast(Reply, None)
        raise RuntimeError("now")

    async with running(handle) as plane, await plane.peer() as peer:
        assert await peer.ask(1) == (1, -1)
        assert await peer.ask(2, "parked") == (2, -1)
        errors = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert [record.exc_info is not None for record in errors] == [True, True]
        assert await peer.ask(3, "nothing") is None


async def test_a_malformed_body_closes_its_connection_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(request: Request) -> Reply:
        if request.client_id == "bad":
            raise DecodeError("array of 2147483647 elements, 3 bytes remain")
        return HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as bad, await plane.peer() as neighbour:
        assert await bad.ask(1, "bad") is None
        assert await neighbour.ask(2) == (2, 0)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("PLAINTEXT 127.0.0.1:")
    assert "API 12 version 0 from 'bad': array of 2147483647" in message
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">i", -1), "frame of -1 bytes"),
        (struct.pack(">i", 2**31 - 1), "frame of 2147483647 bytes"),
        (struct.pack(">i", 104_857_601), "frame of 104857601 bytes"),
        (struct.pack(">i", 0), "too short for a header"),
        (struct.pack(">i", 7) + bytes(7), "too short for a header"),
        (frame(1, api_key=999), "API key 999 is not offered"),
        (frame(1, api_key=-1), "API key -1 is not offered"),
        (frame(1, api_key=0), "Produce (API key 0) is not offered here; Kafka has it at listeners of brokers"),
        (frame(1, api_key=52), "Vote (API key 52) is not offered here; Kafka has it at listeners of controllers"),
        (frame(1, api_key=55), "Kafka has it at listeners of brokers and controllers"),
        (frame(1, api_key=7), "Kafka has it at listeners of brokers with ZooKeeper"),
        (
            b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
            "closed: an HTTP request, 'GET /metrics HTTP/1.1'; this port speaks",
        ),
        (b"POST /\x1b[31m\nERROR all is lost", r"an HTTP request, 'POST /\x1b[31m\nERROR all is lost'"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "closed: a TLS handshake; this port does not speak TLS"),
        (frame(1, version=5), "version 5 of API 12 is not offered"),
        (frame(1, version=-1), "version -1 of API 12 is not offered"),
        (struct.pack(">ihhih", 10, 12, 0, 1, 100), "client id of 100 bytes, 0 remain"),
        (
            struct.pack(">ihhih", 11_010, 12, 0, 1, 11_000) + b"\xff" * 11_000,
            "client id of 11000 bytes that are not UTF-8",
        ),
        (struct.pack(">ihhih", 11, 12, 4, 1, 0) + b"\x05", "the bytes end inside a variable-length integer"),
        (struct.pack(">ihhih", 13, 12, 4, 1, 0) + b"\xe9\x07\x00", "1001 tagged fields; at most 1000 are allowed"),
    ],
)
async def test_a_broken_request_closes_its_connection_only(
    data: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """``socket.request.max.bytes``, and Kafka closes for a request header that it cannot parse."""
    async with running() as plane, await plane.peer() as bad, await plane.peer() as neighbour:
        await bad.send_bytes(data)
        assert await bad.receive() is None
        assert await neighbour.ask(2) == (2, 0)
    (record,) = caplog.records
    assert reason in record.getMessage()


async def test_api_versions_of_an_unknown_version_is_answered_in_version_0() -> None:
    """KIP-511: such a request is answered in version 0 with UNSUPPORTED_VERSION. It has no metrics of its own: there
    are 65,536 versions.
    """

    async def handle(request: Request) -> Reply:
        assert not request.supported
        return ApiVersionsResponse(error_code=35)

    async with running(handle) as plane, await plane.peer() as peer:
        header = struct.pack(">hhih", API_VERSIONS, 99, 7, -1) + b"\0"
        await peer.send_bytes(struct.pack(">i", len(header)) + header)
        assert await peer.receive() == (7, 35)
    rates = [str(name) for name, _ in plane.registry if "RequestsPerSec" in str(name)]
    assert rates == ["kafka.network:type=RequestMetrics,name=RequestsPerSec,request=ApiVersions,version=0"]


async def test_the_nursery_tree_has_readable_names() -> None:
    async with running(plane=a_plane("PLAINTEXT", "INTERNAL", processors=2, handlers=2)) as plane:
        async with await plane.peer() as peer:
            assert await peer.ask(1) == (1, 0)
            port = peer.stream.socket.getsockname()[1]
            names = Counter(_task_names(trio.lowlevel.current_root_task()))
    expected = {"plane", "acceptor PLAINTEXT", "acceptor INTERNAL", "handler 0", "handler 1"}
    expected |= {"processor 0 PLAINTEXT", "processor 1 PLAINTEXT", "processor 2 INTERNAL", "processor 3 INTERNAL"}
    expected |= {"expiry 0 PLAINTEXT", f"connection 127.0.0.1:{port}"}
    assert {name: names[name] for name in expected} == dict.fromkeys(expected, 1)


def _task_names(task: trio.lowlevel.Task | None) -> list[str]:
    assert task is not None
    children = (child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return [task.name] + [name for child in children for name in _task_names(child)]


async def test_a_stop_answers_requests_in_flight_and_closes_the_rest() -> None:
    release = trio.Event()

    async def handle(request: Request) -> Reply:
        await release.wait()
        return HeartbeatResponse()

    async with running(handle) as plane:
        busy, idle = await plane.peer(), await plane.peer()
        await busy.send(1)
        await wait_all_tasks_blocked()
        plane.stopping.set()
        assert await idle.receive() is None
        with pytest.raises(OSError, match="all attempts to connect"):
            await plane.peer()
        release.set()
        assert await busy.receive() == (1, 0)
        assert await busy.receive() is None
        await idle.aclose()
        await busy.aclose()


async def test_a_stop_waits_no_longer_than_the_drain_time() -> None:
    cancelled = False

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            nonlocal cancelled
            try:
                await trio.sleep_forever()
            finally:
                cancelled = True

        return Parked(wait)

    async with running(handle, settings=SocketSettings(drain_ms=1)) as plane:
        peer = await plane.peer()
        await peer.send(1)
        await wait_all_tasks_blocked()
        plane.stopping.set()
        assert await peer.receive() is None
        await peer.aclose()
    assert cancelled


async def test_connections_that_idle_too_long_are_closed() -> None:
    """``connections.max.idle.ms``; half a frame is no activity, nor is a response that does not come."""

    async def handle(request: Request) -> Reply:
        return Parked(trio.sleep_forever)

    async with running(handle, settings=SocketSettings(max_idle_ms=20)) as plane:
        silent, half, parked = [await plane.peer() for _ in range(3)]
        await half.send_bytes(frame(1)[:7])
        await parked.send(2)
        for peer in (silent, half, parked):
            assert await peer.receive() is None
            await peer.aclose()
        killed = plane.registry.get("kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount")
        assert killed.value == 3


@pytest.mark.parametrize("way", ["closed", "reset", "closed behind another request"])
async def test_a_parked_request_ends_with_its_peer(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Fetch may wait for as long as its client asks. Its connection must not last longer than the client."""
    ended = trio.Event()

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            try:
                await trio.sleep_forever()
            finally:
                ended.set()

        return Parked(wait)

    monkeypatch.setattr(connections, "PEER_CHECK_S", 0.01)
    with trio.fail_after(30):
        async with running(handle) as plane:
            peer = await plane.peer()
            await peer.send(1)
            await wait_all_tasks_blocked()
            if way == "reset":
                peer.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif way != "closed":
                await peer.send(2)
            await peer.aclose()
            await ended.wait()
            count = plane.registry.get(
                "kafka.server:type=socket-server-metrics,name=connection-count,listener=PLAINTEXT,networkProcessor=0"
            )
            while count.value:
                await trio.lowlevel.checkpoint()


async def test_a_parked_request_without_a_response_goes_on_after_its_peer_has_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SocketServer.processNewResponses: after a NoOpResponse the processor reads the next request. So a producer with
    ``acks=0`` may close its connection once it has sent everything.
    """
    ended: list[int] = []
    gate, checked = trio.Event(), trio.Event()

    async def handle(request: Request) -> Reply:
        async def wait() -> ResponseAction:
            try:
                await gate.wait()
            finally:
                ended.append(request.correlation_id)
                checked.set()
            return NO_RESPONSE

        return Parked(wait, is_awaited=request.correlation_id == 9)

    monkeypatch.setattr(connections, "PEER_CHECK_S", 0.01)
    with trio.fail_after(30):
        async with running(handle) as plane:
            producer, other = await plane.peer(), await plane.peer()
            await producer.send_bytes(frame(1) + frame(2) + frame(3))
            await wait_all_tasks_blocked()
            await producer.aclose()
            await other.send(9)
            await other.aclose()
            await checked.wait()  # the peers in the order of their activity: both have been looked at
            gate.set()
            count = plane.registry.get(
                "kafka.server:type=socket-server-metrics,name=connection-count,listener=PLAINTEXT,networkProcessor=0"
            )
            while count.value:
                await trio.lowlevel.checkpoint()
    assert ended == [9, 1, 2, 3]


async def test_a_parked_request_whose_peer_waits_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, checks = trio.Event(), 0

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            await gate.wait()
            return HeartbeatResponse(error_code=1)

        return Parked(wait)

    is_abandoned = PlainTransport.is_abandoned

    def counted(transport: PlainTransport) -> bool:
        nonlocal checks
        checks += 1
        if checks == 5:
            gate.set()
        return is_abandoned(transport)

    monkeypatch.setattr(PlainTransport, "is_abandoned", counted)
    monkeypatch.setattr(connections, "PEER_CHECK_S", 0.01)
    with trio.fail_after(30):
        async with running(handle) as plane, await plane.peer() as peer:
            await peer.send_bytes(frame(1) + frame(2))
            assert [await peer.receive() for _ in range(2)] == [(1, 1), (2, 1)]
    assert checks >= 5


async def test_a_peer_that_takes_no_response_is_idle() -> None:
    registry = Registry()
    async with running(settings=SocketSettings(max_idle_ms=50, send_buffer_bytes=4096), registry=registry) as plane:
        async with await plane.peer() as peer:
            # Left to itself the kernel would grow this buffer to megabytes: hundreds of thousands of responses.
            peer.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with pytest.raises(trio.BrokenResourceError):
                await peer.send_bytes(frame(1) * 1_000_000)
    assert registry.get("kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount").value == 1


async def test_metrics_have_kafkas_names() -> None:
    """KIP-291's names for both planes; Kafka's monitoring page for the rest."""
    registry = Registry()
    control = control_plane(a_plane("CONTROL").listeners)
    async with running(registry=registry) as plane, running(plane=control, registry=registry):
        async with await plane.peer() as peer:
            assert await peer.ask(1) == (1, 0)
            count = "kafka.server:type=socket-server-metrics,name=connection-count"
            assert registry.get(f"{count},listener=PLAINTEXT,networkProcessor=0").value == 1
    names = {str(name) for name, _ in registry}
    for prefix in ("", "ControlPlane"):
        assert {
            f"kafka.network:type=RequestChannel,name={prefix}RequestQueueSize",
            f"kafka.network:type=RequestChannel,name={prefix}ResponseQueueSize",
            f"kafka.network:type=RequestChannel,name={prefix}ResponseQueueSize,processor=0",
            f"kafka.network:type=SocketServer,name={prefix}NetworkProcessorAvgIdlePercent",
            f"kafka.network:type=SocketServer,name={prefix}ExpiredConnectionsKilledCount",
            f"kafka.server:type=KafkaRequestHandlerPool,name={prefix}RequestHandlerAvgIdlePercent",
        } <= names
    times = ("RequestQueue", "Local", "Remote", "ResponseQueue", "ResponseSend", "Total")
    for name in (f"{time}TimeMs" for time in times):
        assert registry.get(f"kafka.network:type=RequestMetrics,name={name},request=Heartbeat").value == 1
    assert registry.get("kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Heartbeat,version=0").value == 1
    assert registry.get(f"{count},listener=PLAINTEXT,networkProcessor=0").value == 0
