"""Tasks that wait for the high watermark wake at an advance and at a change of the leadership."""

from __future__ import annotations

import trio
import trio.testing

from kraft.quorum.high_watermark import HighWatermark


async def test_an_advance_wakes_every_waiting_task_with_the_new_offset() -> None:
    high_watermark, seen = HighWatermark(3), list[int]()

    async def wait() -> None:
        await high_watermark.change()
        seen.append(high_watermark.offset)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert seen == []
        high_watermark.advance(7)
    assert seen == [7, 7]


async def test_a_wake_keeps_the_offset() -> None:
    high_watermark, woken = HighWatermark(3), trio.Event()

    async def wait() -> None:
        await high_watermark.change()
        woken.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        high_watermark.wake()
        await woken.wait()
    assert high_watermark.offset == 3
