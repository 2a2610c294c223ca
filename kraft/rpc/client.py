"""A client connection, for the tools, for tests, and for peers.

Several tasks may pipeline requests. The connection has no reader task: a task that waits for its response reads, and
stores the responses of other tasks. A request that is cancelled or times out closes the connection, because its
response may still arrive.
"""

from __future__ import annotations

import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import trio

from kraft import __version__
from kraft.config.setting import one_line
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.registry import request_header_version, response_class, response_header_version
from kraft.rpc.channel import decode_response
from kraft.rpc.frames import SCRATCH_BYTES, ConnectionEnded, FrameReader, InvalidFrame
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.codec import encode_in_steps
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer
from kraft.world.dial import Dial, dial_by_tcp
from kraft.world.slices import next_slice
from kraft.world.transport import Transport

DEFAULT_TIMEOUT_S = 30.0
BESIDE_RECORDS_BYTES = 2**20
"""More than a response has beside the batch of its records."""
MAX_RESPONSE_BYTES = 100 * 2**20 + BESIDE_RECORDS_BYTES
"""Fits a batch of 100 MiB, the default of ``socket.request.max.bytes``: no producer can send a larger one."""

T = TypeVar("T")
M = TypeVar("M", bound=Message)

_FIXED = struct.Struct(">ihhi")
_CORRELATION_ID = struct.Struct(">i")
_CLIENT_ID_LENGTH = struct.Struct(">h")
_FRAME_LENGTH = struct.Struct(">i")


#: Connects to (host, port, client id, timeout in seconds) for the duration of a block, as :func:`connect` does.
Connect = Callable[[str, int, str, float], AbstractAsyncContextManager["Connection"]]


class Disconnected(ConnectionError):
    """The connection is closed: by the peer, by a malformed response, or by a request that was given up."""


def reason(error: Exception) -> str:
    """Return the reason why a connection or a request failed, on one line."""
    if isinstance(error, trio.TooSlowError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # Trio's own text repeats the address
    return one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


@asynccontextmanager
async def connect(
    host: str,
    port: int,
    client_id: str | None = "kraft",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    *,
    dial: Dial = dial_by_tcp,
    versions: Mapping[int, tuple[int, int]] | None = None,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
) -> AsyncIterator[Connection]:
    """Run :func:`open_connection`, and close the connection at the end of the block."""
    connection = await open_connection(
        host, port, client_id, timeout_s, dial=dial, versions=versions, max_response_bytes=max_response_bytes
    )
    try:
        yield connection
    finally:
        connection.close()


async def open_connection(
    host: str,
    port: int,
    client_id: str | None = "kraft",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    *,
    dial: Dial = dial_by_tcp,
    versions: Mapping[int, tuple[int, int]] | None = None,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
) -> Connection:
    """Connect with ``dial`` and request the peer's versions, unless the caller knows the ``versions`` that it needs.
    The caller closes the connection.

    Raises:
        OSError: the peer cannot be reached, or the connection was lost (Disconnected).
        KafkaError: the peer refused ApiVersions.
        trio.TooSlowError: a step took longer than ``timeout_s``.
    """
    with trio.fail_after(timeout_s):
        transport = await dial(host, port)
    connection = Connection(transport, client_id, timeout_s, max_response_bytes)
    if versions is not None:
        connection.versions = versions
        return connection
    try:
        await connection.handshake()
    except BaseException:
        connection.close()
        raise
    return connection


class Connection:
    """Made by :func:`open_connection`. ``versions`` maps the API keys that the peer offers to (lowest, highest)
    version.
    """

    def __init__(
        self,
        transport: Transport,
        client_id: str | None,
        timeout_s: float,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._transport = transport
        self._frames = FrameReader(transport, memoryview(bytearray(SCRATCH_BYTES)), max_response_bytes, MemoryPool())
        self._client_id = None if client_id is None else client_id.encode()
        self._timeout_s = timeout_s
        self._sending = _held(trio.Lock())
        self._reading = _held(trio.Lock())
        self._next_correlation_id = 0
        self._outstanding: set[int] = set()
        self._arrived: dict[int, Buffer] = {}
        self._closed = False
        self.versions: Mapping[int, tuple[int, int]] = {}

    async def handshake(self) -> None:
        """Send ApiVersions in our highest version, or again in the one that the peer's error names (KIP-511).

        Raises KafkaError, Disconnected.
        """
        request = ApiVersionsRequest(client_software_name="kraft", client_software_version=__version__)
        version = ApiVersionsRequest.VALID_VERSIONS[1]
        frame = await self._exchange(request, version, self._timeout_s)
        if int.from_bytes(frame[4:6], "big") == ErrorCode.UNSUPPORTED_VERSION:
            offered = await self._decode(ApiVersionsResponse, 0, frame, 4)
            version = next((api.max_version for api in offered.api_keys if api.api_key == request.API_KEY), 0)
            frame = await self._exchange(request, version, self._timeout_s)
        response = await self._decode(ApiVersionsResponse, version, frame, 4)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}

    def highest_common_version(self, request: Message) -> int:
        """Return the highest version that both sides know. Raises KafkaError UNSUPPORTED_VERSION if they share none."""
        if request.API_KEY not in self.versions:
            name = type(request).__name__.removesuffix("Request")
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"the node does not offer {name}")
        ours, theirs = request.VALID_VERSIONS, self.versions[request.API_KEY]
        version: int = min(ours[1], theirs[1])
        if version < max(ours[0], theirs[0]):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        return version

    async def request(self, request: Message, version: int | None = None, *, timeout_s: float | None = None) -> Message:
        """Send ``request`` and return its response. The version is ``version``, or the highest that both sides know.

        Raises:
            KafkaError: UNSUPPORTED_VERSION if the two sides share no version.
            Disconnected: the connection is closed or was lost.
            trio.TooSlowError: there was no response within ``timeout_s``.
        """
        version = self.highest_common_version(request) if version is None else version
        frame = await self._exchange(request, version, self._timeout_s if timeout_s is None else timeout_s)
        position = 5 if response_header_version(request.API_KEY, version) else 4
        if position == 5 and (len(frame) < 5 or frame[4] != 0):
            self.close()
            raise Disconnected("response header has tagged fields, which no Kafka defines")
        return await self._decode(response_class(request.API_KEY), version, frame, position)

    async def send(self, request: Message, version: int | None = None) -> None:
        """Send a request that has no response (Produce with acks=0)."""
        version = self.highest_common_version(request) if version is None else version
        await self._or_close(self._send(request, version), self._timeout_s)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def is_abandoned(self) -> bool:
        """Whether the peer has closed the connection, so that a request would be lost."""
        return self._transport.is_abandoned()

    def close(self) -> None:
        """Close at once. Tasks that wait for a response get Disconnected."""
        self._closed = True
        self._transport.close()

    async def _exchange(self, request: Message, version: int, timeout_s: float) -> Buffer:
        return await self._or_close(self._round_trip(request, version), timeout_s)

    async def _round_trip(self, request: Message, version: int) -> Buffer:
        correlation_id = await self._send(request, version, expect_response=True)
        while correlation_id not in self._arrived:
            async with self._reading:
                if correlation_id not in self._arrived:
                    await self._read_one()
        return self._arrived.pop(correlation_id)

    async def _send(self, request: Message, version: int, *, expect_response: bool = False) -> int:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        data = bytearray(self._header(request.API_KEY, version, correlation_id))
        pieces: list[tuple[int, FileSlice]] = []
        for _ in encode_in_steps(request, version, data, pieces):
            await next_slice()
        assert not pieces, "requests are made of bytes"
        _FRAME_LENGTH.pack_into(data, 0, len(data) - 4)
        async with self._sending:
            if self._closed:
                raise Disconnected("connection is closed")
            if expect_response:
                self._outstanding.add(correlation_id)
            await self._transport.send(data)
        return correlation_id

    def _header(self, api_key: int, version: int, correlation_id: int) -> bytes:
        header_version = request_header_version(api_key, version)
        fixed = _FIXED.pack(0, api_key, version, correlation_id)
        if header_version == 0:
            return fixed
        length = -1 if self._client_id is None else len(self._client_id)
        tagged_fields = b"\0" if header_version >= 2 else b""
        return fixed + _CLIENT_ID_LENGTH.pack(length) + (self._client_id or b"") + tagged_fields

    async def _read_one(self) -> None:
        frame = await self._frames.read()
        if frame is None or len(frame) < 4:
            raise ConnectionEnded("peer closed the connection")
        correlation_id = _CORRELATION_ID.unpack_from(frame)[0]
        if correlation_id not in self._outstanding:
            raise InvalidFrame(f"response to request {correlation_id}, which was not sent")
        self._outstanding.remove(correlation_id)
        self._arrived[correlation_id] = frame

    async def _decode(self, cls: type[M], version: int, frame: Buffer, position: int) -> M:
        try:
            return await decode_response(cls, version, frame, position)
        except DecodeError as error:
            self.close()
            raise Disconnected(f"malformed response: {error}") from error

    async def _or_close(self, exchange: Awaitable[T], timeout_s: float) -> T:
        """Return the result of ``exchange``. Close the connection if it is interrupted: the stream may end inside a
        frame.
        """
        done = False
        try:
            with trio.move_on_after(timeout_s):
                result = await exchange
                done = True
                return result
            raise trio.TooSlowError
        except (OSError, EOFError, InvalidFrame, trio.ClosedResourceError) as error:
            if isinstance(error, Disconnected):
                raise
            raise Disconnected(str(error) or "connection is closed") from error
        finally:
            if not done:
                self.close()


class _held:
    """``async with lock`` without a checkpoint when the lock is free. It can be entered many times."""

    __slots__ = ("_lock",)

    def __init__(self, lock: trio.Lock) -> None:
        self._lock = lock

    async def __aenter__(self) -> None:
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
