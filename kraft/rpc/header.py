"""Decodes request headers and encodes response frames.

This module decodes a header without the codec, because the first four bytes determine the header's version.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kraft.messages.registry import (
    ApiKey,
    listeners,
    request_class,
    request_header_version,
    response_header_version,
)
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.codec import encode_in_steps
from kraft.wire.decode_error import DecodeError
from kraft.wire.encoder import MAX_STRING_BYTES
from kraft.wire.reading import skip_tags
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer
from kraft.world.slices import next_slice

Apis = Mapping[int, tuple[int, int]]
"""The APIs that a listener offers: key to (lowest, highest version)."""

_FIXED = struct.Struct(">hhi")
_CLIENT_ID_LENGTH = struct.Struct(">h")
_RESPONSE_PREFIX = (struct.Struct(">ii"), struct.Struct(">iiB"))
_FRAME_LENGTH = struct.Struct(">i")
_FLEXIBLE_HEADER = 2
_KEPT_END = 256
"""A connection keeps a client id that ends here or before. Long ones of ten thousand connections need much memory."""


def parse_request(
    frame: Buffer,
    connection: ConnectionInfo,
    apis: Apis,
    received_at: float = 0.0,
    room: MemoryPool | None = None,
) -> Request:
    """Decode the header of a request that arrived at ``received_at``, in seconds of the plane's clock.

    ApiVersions is accepted in any version, because its response lists the versions that this listener offers.

    Raises DecodeError if the header is malformed, or the listener does not offer this API or version; Kafka closes the
    connection then.
    """
    if len(frame) < _FIXED.size:
        raise DecodeError(f"request of {len(frame)} bytes is too short for a header")
    api_key, api_version, correlation_id = _FIXED.unpack_from(frame)
    offered = apis.get(api_key)
    if offered is None:
        raise DecodeError(_not_offered(api_key))
    supported = offered[0] <= api_version <= offered[1]
    if supported:
        header_version = request_header_version(api_key, api_version)
    elif api_key == ApiKey.API_VERSIONS:
        header_version = _FLEXIBLE_HEADER
    else:
        raise DecodeError(
            f"version {api_version} of API {api_key} is not offered here, {offered[0]} to {offered[1]} are"
        )
    client_id, position = (None, _FIXED.size) if header_version == 0 else _client_id(frame, connection)
    if header_version >= _FLEXIBLE_HEADER:
        # A server uses no tagged field of a request header, and clients send none.
        position = position + 1 if frame[position : position + 1] == b"\0" else skip_tags(frame, position)[1]
    version = api_version if supported else 0
    return Request(
        api_key,
        api_version,
        correlation_id,
        client_id,
        frame,
        position,
        connection,
        supported,
        version,
        received_at,
        room,
    )


def _not_offered(api_key: int) -> str:
    """Name the API and the listeners that have it in Kafka: the client may use the port of a controller, or the
    reverse.
    """
    if api_key not in frozenset(ApiKey):
        return f"API key {api_key} is not offered here"
    name = request_class(api_key).__name__.removesuffix("Request")
    kinds = " and ".join(f"{kind}s" for kind in listeners(api_key) if kind in ("broker", "controller"))
    kinds = kinds or "brokers with ZooKeeper"
    return f"{name} (API key {api_key}) is not offered here; Kafka has it at listeners of {kinds}"


def _client_id(frame: Buffer, connection: ConnectionInfo) -> tuple[str | None, int]:
    """Return the client id and the position after it. All requests of a connection have the same one, as a rule."""
    known, client_id = connection.known_client_id
    if known and frame[_FIXED.size : (end := _FIXED.size + len(known))] == known:
        return client_id, end
    client_id, end = _read_client_id(frame)
    if end <= _KEPT_END:
        connection.known_client_id = bytes(frame[_FIXED.size : end]), client_id
    return client_id, end


def _read_client_id(frame: Buffer) -> tuple[str | None, int]:
    start = _FIXED.size + 2
    if len(frame) < start:
        raise DecodeError("request ends before its client id")
    length = _CLIENT_ID_LENGTH.unpack_from(frame, _FIXED.size)[0]
    if length < 0:
        return None, start
    if len(frame) < start + length:
        raise DecodeError(f"client id of {length} bytes, {len(frame) - start} remain")
    # Only logs and quotas use this name, so bytes that are not UTF-8 are replaced, as in Kafka.
    client_id = str(frame[start : start + length], "utf-8", "replace")
    if length > MAX_STRING_BYTES // 3 and len(client_id.encode()) > MAX_STRING_BYTES:  # a replacement has three bytes
        raise DecodeError(f"client id of {length} bytes that are not UTF-8")
    return client_id, start + length


async def encode_response(request: Request, message: Message) -> tuple[bytearray, list[tuple[int, FileSlice]]]:
    """Return the response frame without its file slices, and the slices with their offsets in it.

    While a large response is encoded other tasks run in between; a small one is encoded without a checkpoint.
    """
    flexible = response_header_version(request.api_key, request.response_version)
    if flexible:
        prefix = _RESPONSE_PREFIX[1].pack(0, request.correlation_id, 0)
    else:
        prefix = _RESPONSE_PREFIX[0].pack(0, request.correlation_id)
    data = bytearray(prefix)
    pieces: list[tuple[int, FileSlice]] = []
    for _ in encode_in_steps(message, request.response_version, data, pieces):
        await next_slice()
    size = len(data) - 4
    if pieces:
        size += sum(piece.length for _, piece in pieces)
    _FRAME_LENGTH.pack_into(data, 0, size)
    return data, pieces
