"""Opening of large batches: few are in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio
import trio.testing

from kraft.records.batch import parse_header
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.simulation.virtual_network import at_once
from kraft.storage.opening import OPEN_BATCHES, SMALL_BYTES, opened


async def test_few_large_batches_are_in_memory() -> None:
    """Each of 1,000 connections may send a batch that becomes 64 MiB."""
    batch = encode_batch([Record(0, 0, None, bytes(100 * SMALL_BYTES))], compression=Compression.GZIP)
    header, release = parse_header(batch), trio.Event()
    open_now = most = 0

    async def hold() -> None:
        nonlocal open_now, most
        async with opened(batch, 0, header, max_bytes=1 << 26, compute=at_once) as payload:
            open_now += 1
            most = max(most, open_now)
            await release.wait()
            assert len(payload) > 100 * SMALL_BYTES
            open_now -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(3 * OPEN_BATCHES):
            nursery.start_soon(hold)
        await trio.testing.wait_all_tasks_blocked()
        assert open_now == OPEN_BATCHES
        release.set()
    assert most == OPEN_BATCHES


async def test_small_batches_wait_for_none() -> None:
    """They are opened while large ones occupy all the room."""
    large = encode_batch([Record(0, 0, None, bytes(100 * SMALL_BYTES))], compression=Compression.GZIP)
    small = encode_batch([Record(0, 0, None, b"value")], compression=Compression.GZIP)

    async def never(work: Callable[..., Any], *arguments: Any) -> Any:
        await trio.sleep_forever()

    async def hold() -> None:
        async with opened(large, 0, parse_header(large), max_bytes=1 << 26, compute=never):
            pass

    async with trio.open_nursery() as nursery:
        for _ in range(OPEN_BATCHES):
            nursery.start_soon(hold)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(5):
            async with opened(small, 0, parse_header(small), max_bytes=1 << 26, compute=never) as payload:
                assert b"value" in bytes(payload)
        nursery.cancel_scope.cancel()
