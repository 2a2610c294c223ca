"""The client connection, against a plane of ours and against peers that misbehave."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio

from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.messages.metadata_request import MetadataRequest
from kraft.rpc.channel import Parked, Reply, Request
from kraft.rpc.client import MAX_RESPONSE_BYTES, Disconnected, connect
from kraft.wire.errors import ErrorCode, KafkaError
from tests.rpc.planes import API_VERSIONS, HEARTBEAT, running


async def broker(request: Request) -> Reply:
    """ApiVersions up to 3 and Heartbeat up to 4, which answers its generation id as the error code."""
    if request.api_key == API_VERSIONS:
        if not request.supported:
            return ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION,
                api_keys=[ApiVersion(api_key=API_VERSIONS, min_version=0, max_version=3)],
            )
        keys = [ApiVersion(api_key=HEARTBEAT, min_version=0, max_version=4)]
        return ApiVersionsResponse(api_keys=keys)
    message = request.message()
    assert isinstance(message, HeartbeatRequest)
    if message.group_id == "never":
        return Parked(trio.sleep_forever)
    return HeartbeatResponse(error_code=message.generation_id)


async def test_the_handshake_falls_back_to_the_version_that_the_peer_names() -> None:
    """KIP-511: a broker that does not know the version answers in version 0 and names its highest."""
    async with running(broker) as plane, connect("127.0.0.1", plane.ports["PLAINTEXT"]) as connection:
        assert connection.versions == {HEARTBEAT: (0, 4)}
        response = await connection.request(HeartbeatRequest(generation_id=5))
        assert response == HeartbeatResponse(error_code=5)
        response = await connection.request(HeartbeatRequest(generation_id=6), 0)
        assert response == HeartbeatResponse(error_code=6)


async def test_an_api_that_the_peer_does_not_offer_is_not_sent() -> None:
    async with running(broker) as plane, connect("127.0.0.1", plane.ports["PLAINTEXT"], client_id=None) as connection:
        with pytest.raises(KafkaError) as caught:
            await connection.request(MetadataRequest())
        assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


async def test_tasks_share_a_connection() -> None:
    answers: dict[int, int] = {}
    async with running(broker) as plane, connect("127.0.0.1", plane.ports["PLAINTEXT"]) as connection:

        async def ask(number: int) -> None:
            response = await connection.request(HeartbeatRequest(generation_id=number))
            assert isinstance(response, HeartbeatResponse)
            answers[number] = response.error_code

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(ask, number)
    assert answers == {number: number for number in range(50)}


async def test_a_request_without_response_does_not_wait() -> None:
    async with running(broker) as plane, connect("127.0.0.1", plane.ports["PLAINTEXT"]) as connection:
        await connection.send(HeartbeatRequest(group_id="never"))
        connection.close()
        with pytest.raises(Disconnected):
            await connection.send(HeartbeatRequest())


async def test_a_request_that_runs_out_of_time_closes_the_connection_for_all() -> None:
    """The response may still come, and the next reader could take it for its own."""
    async with running(broker) as plane, connect("127.0.0.1", plane.ports["PLAINTEXT"]) as connection:
        failures: list[str] = []

        async def ask(timeout_s: float) -> None:
            try:
                await connection.request(HeartbeatRequest(group_id="never"), timeout_s=timeout_s)
            except (trio.TooSlowError, Disconnected) as error:
                failures.append(type(error).__name__)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0.02)
            nursery.start_soon(ask, 30)
        assert sorted(failures) == ["Disconnected", "TooSlowError"]


async def misbehave(answer: Callable[[bytes], bytes], stream: trio.SocketStream) -> None:
    async with stream:
        while data := await stream.receive_some(65_536):
            await stream.send_all(answer(data))


def _with_id(data: bytes, correlation_id: int) -> bytes:
    return struct.pack(">iihi", 10, correlation_id, 0, 0)


def _id(data: bytes) -> int:
    correlation_id: int = struct.unpack_from(">i", data, 8)[0]
    return correlation_id


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda data: _with_id(data, _id(data) + 1), id="unknown correlation id"),
        pytest.param(lambda data: struct.pack(">i", -5), id="negative length"),
        pytest.param(lambda data: struct.pack(">ii", MAX_RESPONSE_BYTES + 1, _id(data)), id="too large a frame"),
        pytest.param(lambda data: struct.pack(">ih", 2, 0), id="no correlation id"),
        pytest.param(lambda data: struct.pack(">iihi", 10, _id(data), 0, 2**31 - 1), id="malformed body"),
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_disconnected(answer: Callable[[bytes], bytes]) -> None:
    handler: Callable[[trio.SocketStream], Awaitable[None]] = partial(misbehave, answer)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(Disconnected):
            async with connect("127.0.0.1", port):
                raise AssertionError("the handshake succeeded")
        nursery.cancel_scope.cancel()


async def test_a_refused_connection_raises_os_error() -> None:
    with pytest.raises(OSError, match="refused"):
        async with connect("127.0.0.1", 1):
            raise AssertionError("somebody does")
