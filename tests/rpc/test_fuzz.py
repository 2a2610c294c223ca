"""Any bytes on a listener: an answer or a closed connection, and unharmed neighbours."""

from __future__ import annotations

import logging
import struct

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.rpc.channel import ConnectionInfo, Reply, Request
from kraft.rpc.header import parse_request
from kraft.wire.decode_error import DecodeError
from tests.rpc.planes import APIS, frame, running

framed = st.binary(max_size=200).map(lambda body: struct.pack(">i", len(body)) + body)
mutated = st.tuples(st.integers(0, 21), st.integers(0, 255)).map(
    lambda change: frame(1)[: change[0]] + bytes([change[1]]) + frame(1)[change[0] + 1 :]
)
anything = st.lists(st.one_of(st.binary(max_size=100), framed, mutated), min_size=1, max_size=10).map(b"".join)


async def decoding(request: Request) -> Reply:
    if request.supported and request.client_id != "neighbour":
        request.message()
    return HeartbeatResponse()


@settings(max_examples=30, deadline=None)
@given(st.lists(anything, min_size=1, max_size=20))
def test_no_bytes_disturb_the_other_client(attacks: list[bytes]) -> None:
    logging.getLogger("kraft.rpc").disabled = True

    async def main() -> None:
        async with running(decoding) as plane, await plane.peer() as neighbour:
            for number, attack in enumerate(attacks):
                async with await plane.peer() as peer:
                    await peer.send_bytes(attack)
                    await peer.stream.send_eof()
                    while await peer.receive() is not None:
                        pass
                assert await neighbour.ask(number, "neighbour") == (number, 0)

    try:
        trio.run(main)
    finally:
        logging.getLogger("kraft.rpc").disabled = False


@given(st.binary(max_size=64))
def test_a_header_is_parsed_or_refused(data: bytes) -> None:
    try:
        request = parse_request(data, _connection(), APIS)
    except DecodeError:
        return
    assert 8 <= request.body_position <= len(data)
    assert request.api_key in APIS


_client_ids = st.one_of(
    st.just(b"\xff\xff"),
    st.sampled_from([b"", b"a", b"ab", b"ab\xff", b"a" * 300]).map(lambda name: struct.pack(">h", len(name)) + name),
)


@given(st.lists(st.tuples(_client_ids, st.integers(0, 3)), min_size=2, max_size=6))
def test_a_connection_may_change_its_client_id(headers: list[tuple[bytes, int]]) -> None:
    """A connection remembers the last client id. So each header must read as on a connection of its own."""
    connection = _connection()
    for client_id, missing in headers:
        data = struct.pack(">hhi", 12, 3, 7) + client_id
        data = data[: len(data) - missing]
        assert _client_id_of(data, connection) == _client_id_of(data, _connection())


def _client_id_of(data: bytes, connection: ConnectionInfo) -> tuple[str | None, int] | None:
    try:
        request = parse_request(data, connection, APIS)
    except DecodeError:
        return None
    return request.client_id, request.body_position


def _connection() -> ConnectionInfo:
    return ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


@given(st.dictionaries(st.integers(0, 2**31), st.binary(max_size=200), max_size=5), st.one_of(st.none(), st.text()))
def test_tagged_fields_of_a_header_are_skipped(fields: dict[int, bytes], client_id: str | None) -> None:
    """KIP-482: a header of version 2 ends with tagged fields, and a reader skips those that it does not know."""

    def varint(value: int) -> bytes:
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)

    name = (client_id or "").encode()
    head = struct.pack(">hhih", 12, 4, 7, -1 if client_id is None else len(name)) + name
    tags = varint(len(fields)) + b"".join(
        varint(tag) + varint(len(value)) + value for tag, value in sorted(fields.items())
    )
    request = parse_request(head + tags + b"body", _connection(), APIS)
    assert (request.client_id, request.correlation_id) == (client_id, 7)
    assert request.frame[request.body_position :] == b"body"
