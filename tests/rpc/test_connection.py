"""Responses whose records are in a file, and replies that cannot be made."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Histogram, Registry
from kraft.rpc.channel import CLOSE, NO_RESPONSE, ConnectionInfo, Parked, Reply, Request
from kraft.rpc.connection import MAX_TOGETHER, MAX_TOGETHER_BYTES, error_reply, failed_reply
from kraft.rpc.rejections import RejectionLog
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice, Records
from kraft.world.transport import PlainTransport
from tests.rpc.planes import FETCH, a_plane, frame, running


def a_fetch_response(*records: Records) -> FetchResponse:
    partitions = [PartitionData(partition_index=index, records=value) for index, value in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize("version", [4, 12])
async def test_records_in_files_are_sent_as_if_they_were_in_memory(version: int, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4000
    path = tmp_path / "segment"
    path.write_bytes(content)
    expected = encode(a_fetch_response(content[7:900_000], b"memory", content[:1], None), version)
    header = struct.pack(">iB", 5, 0)[: 5 if version == 12 else 4]
    with path.open("rb") as file:

        async def handle(request: Request) -> Reply:
            return a_fetch_response(FileSlice(file, 7, 899_993), b"memory", FileSlice(file, 0, 1), None)

        async with running(handle) as plane, await plane.peer() as peer:
            request = frame(5, api_key=FETCH, version=version)
            if version == 12:
                request = struct.pack(">i", len(request) - 3) + request[4:] + b"\0"
            await peer.send_bytes(request)
            received = b""
            while len(received) < 4 + len(header) + len(expected):
                received += await peer.stream.receive_some(65_536)
    assert received == struct.pack(">i", len(header) + len(expected)) + header + expected


async def test_a_file_that_was_cut_short_closes_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"short")
    with path.open("rb") as file:

        async def handle(request: Request) -> Reply:
            return a_fetch_response(FileSlice(file, 0, 100))

        async with running(handle) as plane, await plane.peer() as peer:
            await peer.send_bytes(frame(5, api_key=FETCH, version=4))
            assert await peer.receive() is None


@pytest.fixture
def request_() -> Request:
    connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "10.0.0.1", 5, "10.0.0.1:5")
    return Request(0, 0, 1, "client", b"", 0, connection)


def test_a_version_that_does_not_exist_is_malformed(request_: Request) -> None:
    request_.api_version = 99
    with pytest.raises(DecodeError, match="ProduceRequest has versions"):
        request_.message()


def test_a_failure_without_an_error_response_closes(request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    def broken(request: Request, error: Exception) -> Message:
        raise RuntimeError("the error response fails as well")

    assert error_reply(request_, RuntimeError("handler"), lambda request, error: CLOSE) is CLOSE
    assert error_reply(request_, RuntimeError("handler"), broken) is CLOSE
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3


def test_a_client_id_writes_no_line_of_its_own(request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    request_.client_id = "me\n2030-01-01 ERROR kraft: all is lost"
    rejections = RejectionLog(lambda: 0.0)
    assert failed_reply(request_, DecodeError("no such message"), lambda request, error: CLOSE, rejections) is CLOSE
    assert "\n" not in caplog.text.rstrip("\n")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what the server sends, one for each ``send``."""
    sizes: list[int] = []
    send = PlainTransport.send

    async def counted(self: PlainTransport, data: bytes | bytearray | memoryview, *, more: bool = False) -> None:
        sizes.append(len(data))
        await send(self, data, more=more)

    monkeypatch.setattr(PlainTransport, "send", counted)
    return sizes


RESPONSE_BYTES = 10
"""A Heartbeat response of version 0 with its length."""


async def test_the_responses_of_pipelined_requests_leave_together(sent: list[int]) -> None:
    """``MAX_TOGETHER`` of them at most, and the last one waits for nothing."""
    count = MAX_TOGETHER + 3
    registry = Registry()
    async with running(registry=registry) as plane, await plane.peer() as peer:
        await peer.send_bytes(b"".join(frame(number) for number in range(count)))
        assert [await peer.receive() for _ in range(count)] == [(number, 0) for number in range(count)]
        assert sent == [MAX_TOGETHER * RESPONSE_BYTES, 3 * RESPONSE_BYTES]
        await peer.send_bytes(frame(1) + frame(2)[:9])
        assert await peer.receive() == (1, 0)  # half a frame delays nothing
    assert registry.get("kafka.network:type=RequestChannel,name=ResponseQueueSize").value == 0
    for time in ("ResponseSend", "Total"):
        name = f"kafka.network:type=RequestMetrics,name={time}TimeMs,request=Heartbeat"
        assert registry.get(name).value == count + 1
    outgoing = "kafka.server:type=socket-server-metrics,name=outgoing-byte,listener=PLAINTEXT,networkProcessor=0"
    assert registry.get(outgoing).count == (count + 1) * RESPONSE_BYTES


async def test_a_reading_has_the_times_of_every_request() -> None:
    """Kafka's ``RequestMetrics``. The times of many requests are recorded together, which no reader sees."""
    registry = Registry()
    names = [f"{time}TimeMs" for time in ("RequestQueue", "Local", "Remote", "ResponseQueue", "ResponseSend", "Total")]
    async with running(registry=registry) as plane, await plane.peer() as peer:
        for number in range(1, 151):
            assert await peer.ask(number) == (number, 0)
            if number in (1, 100, 150):
                for name in [*names, "RequestBytes"]:
                    metric = registry.get(f"kafka.network:type=RequestMetrics,name={name},request=Heartbeat")
                    assert metric.value == number
    size = registry.get("kafka.network:type=RequestMetrics,name=RequestBytes,request=Heartbeat")
    assert isinstance(size, Histogram)
    assert (size.mean, size.maximum) == (len(frame(1)) - 4, len(frame(1)) - 4)


@pytest.mark.parametrize(("length", "sends"), [(MAX_TOGETHER_BYTES // 2, [2, 2]), (MAX_TOGETHER_BYTES, [1, 1, 1, 1])])
async def test_long_responses_do_not_gather(sent: list[int], length: int, sends: list[int]) -> None:
    """``MAX_TOGETHER_BYTES`` bounds what a connection holds: no response is copied to one that is as long."""

    async def handle(request: Request) -> Reply:
        return a_fetch_response(bytes(length))

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send_bytes(b"".join(frame(number, api_key=FETCH, version=4) for number in range(4)))
        for _ in range(4):
            await peer.receive()
    size = sum(sent) // 4
    assert sent == [count * size for count in sends]


async def test_a_response_does_not_wait_for_a_parked_request() -> None:
    gate = trio.Event()

    async def handle(request: Request) -> Reply:
        async def wait() -> HeartbeatResponse:
            await gate.wait()
            return HeartbeatResponse()

        return Parked(wait) if request.client_id == "slow" else HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1) + frame(2, "slow"))
        assert await peer.receive() == (1, 0)
        gate.set()
        assert await peer.receive() == (2, 0)


async def test_a_response_does_not_wait_for_room_in_the_queue() -> None:
    gates = {"first": trio.Event(), "other": trio.Event()}

    async def handle(request: Request) -> Reply:
        if request.client_id in gates:
            await gates[request.client_id].wait()
        return HeartbeatResponse()

    async with running(handle, a_plane(queue_capacity=1, handlers=1)) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1, "first") + frame(2))
        await wait_all_tasks_blocked()
        others = [await plane.peer() for _ in range(3)]
        for other in others:
            await other.send(3, "other")
        await wait_all_tasks_blocked()
        gates["first"].set()
        assert await peer.receive() == (1, 0)
        gates["other"].set()
        assert await peer.receive() == (2, 0)
        for other in others:
            await other.aclose()


@pytest.mark.parametrize("bad", [b"\xff\xff\xff\xff", frame(2, version=99)], ids=["frame", "version"])
async def test_responses_leave_before_a_bad_request_closes_the_connection(bad: bytes) -> None:
    async with running() as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1) + bad)
        assert [await peer.receive() for _ in range(2)] == [(1, 0), None]


@pytest.mark.parametrize("last", [CLOSE, NO_RESPONSE], ids=["close", "acks=0"])
async def test_responses_leave_before_a_request_without_one(last: Reply) -> None:
    async def handle(request: Request) -> Reply:
        return last if request.client_id == "last" else HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1) + frame(2, "last"))
        assert await peer.receive() == (1, 0)


async def test_responses_leave_at_a_stop() -> None:
    """The connection answers the request in flight and those before it, and no other one."""
    release = trio.Event()

    async def handle(request: Request) -> Reply:
        if request.client_id == "slow":
            await release.wait()
        return HeartbeatResponse()

    async with running(handle) as plane, await plane.peer() as peer:
        await peer.send_bytes(frame(1) + frame(2, "slow") + frame(3))
        await wait_all_tasks_blocked()
        plane.stopping.set()
        await wait_all_tasks_blocked()
        release.set()
        assert [await peer.receive() for _ in range(3)] == [(1, 0), (2, 0), None]


@pytest.mark.parametrize("is_in_file", [False, True], ids=["memory", "file"])
async def test_a_processor_is_idle_while_a_peer_takes_no_response(
    mock_clock: MockClock, tmp_path: Path, is_in_file: bool
) -> None:
    """NetworkProcessorAvgIdlePercent: Kafka's processor does not wait for a slow reader either."""
    size, registry = 16_000_000, Registry(trio.current_time)
    path = tmp_path / "segment"
    path.write_bytes(bytes(size))
    with path.open("rb") as file:

        async def handle(request: Request) -> Reply:
            return a_fetch_response(FileSlice(file, 0, size) if is_in_file else bytes(size))

        async with running(handle, registry=registry) as plane, await plane.peer() as peer:
            await peer.send_bytes(frame(1, api_key=FETCH, version=4))
            await wait_all_tasks_blocked(0.01)
            mock_clock.jump(100)
            received = 0
            while received < size:
                received += len(await peer.stream.receive_some(1 << 20))
            await wait_all_tasks_blocked(0.01)
            assert registry.get("kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent").value > 0.9
