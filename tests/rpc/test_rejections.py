"""The bounded log of peers that break the protocol."""

from __future__ import annotations

import pytest

from kraft.rpc.channel import ConnectionInfo, Parked, Reply, Request, ResponseAction
from kraft.rpc.rejections import INTERVAL_S, LINES, MAX_ADDRESSES, RejectionLog
from kraft.wire.schema import Message
from tests.rpc.planes import Handle, running


def peer(host: str = "10.0.0.1", port: int = 5, listener: str = "PLAINTEXT") -> ConnectionInfo:
    return ConnectionInfo(listener, "PLAINTEXT", host, port, f"{host}:{port}")


def test_an_address_gets_five_lines_and_then_a_count(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = RejectionLog(lambda: now[0])
    for port in range(100):
        log.closed(peer(port=port), "an HTTP request")
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "PLAINTEXT 10.0.0.1:0: closed: an HTTP request"
    assert lines[-1] == "PLAINTEXT 10.0.0.1:4: closed: an HTTP request; more from 10.0.0.1 are only counted for a while"
    assert len(lines) == LINES
    caplog.clear()
    now[0] = INTERVAL_S
    log.closed(peer(port=7), "an HTTP request")
    assert [record.getMessage() for record in caplog.records] == [
        "PLAINTEXT 10.0.0.1: 95 more were closed or refused",
        "PLAINTEXT 10.0.0.1:7: closed: an HTTP request",
    ]


def test_other_addresses_and_listeners_have_lines_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    log = RejectionLog(lambda: 0.0)
    for _ in range(LINES + 1):
        log.closed(peer(), "why")
    log.closed(peer("10.0.0.2"), "why")
    log.closed(peer(listener="CONTROLLER"), "why")
    assert len(caplog.records) == LINES + 2


def test_the_number_of_remembered_addresses_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    log = RejectionLog(lambda: 0.0)
    for number in range(MAX_ADDRESSES + 10):
        log.closed(peer(f"10.0.{number // 250}.{number % 250}"), "why")
    assert len(log._windows) == MAX_ADDRESSES


async def test_a_plane_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A health check connects by HTTP every second, without end."""
    async with running() as plane:
        for _ in range(LINES * 3):
            async with await plane.peer() as prober:
                await prober.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
                assert await prober.receive() is None
    assert len(caplog.records) == LINES


async def decode_at_once(request: Request) -> Reply:
    return request.message()


async def decode_while_parked(request: Request) -> Reply:
    async def wait() -> Message | ResponseAction:
        return request.message()

    return Parked(wait)


@pytest.mark.parametrize("handle", [decode_at_once, decode_while_parked])
async def test_malformed_bodies_do_not_flood_the_log(handle: Handle, caplog: pytest.LogCaptureFixture) -> None:
    """A header that can be read is no reason to write more lines than for one that cannot: "at most ``LINES`` lines
    in ``INTERVAL_S`` for an address at a listener". These requests have no body at all.
    """
    async with running(handle) as plane:
        for correlation_id in range(LINES * 3):
            async with await plane.peer() as client:
                assert await client.ask(correlation_id, "a" * 32_000) is None
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == LINES
    assert "closed: API 12 version 0 from 'aaa" in lines[0]
    assert all(len(line) < 300 for line in lines), "a client id has up to 32,767 bytes"
