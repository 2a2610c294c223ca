"""``num.io.threads`` requests are handled at the same time; ``queued.max.requests`` more are queued."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from kraft.rpc.handlers import Handlers


async def test_the_oldest_request_is_handled_first() -> None:
    handlers = Handlers(count=1, queue_capacity=2)
    free = trio.Event()
    handled: list[int] = []

    async def handle(number: int) -> None:
        async with handlers:
            handled.append(number)
            await free.wait()

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(handle, number)
            await wait_all_tasks_blocked()
        assert handled == [0]
        assert handlers.queued == 2, "the others wait behind the queue"
        free.set()
    assert handled == [0, 1, 2, 3, 4]
    assert handlers.queued == 0


async def test_a_request_that_is_given_up_leaves_the_queue_and_its_handler() -> None:
    handlers = Handlers(count=1, queue_capacity=1)
    handled: list[str] = []

    async def handle(name: str) -> None:
        async with handlers:
            handled.append(name)
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as given_up:
            for name in ("handled", "queued", "behind the queue"):
                given_up.start_soon(handle, name)
                await wait_all_tasks_blocked()
            nursery.start_soon(handle, "last")
            await wait_all_tasks_blocked()
            assert handled == ["handled"]
            given_up.cancel_scope.cancel()
        await wait_all_tasks_blocked()
        assert handled == ["handled", "last"]
        assert handlers.queued == 0
        nursery.cancel_scope.cancel()


async def test_a_free_handler_is_taken_at_once() -> None:
    """Giving way to other tasks would be a turn of the event loop for every request."""
    handlers = Handlers(count=1, queue_capacity=1)
    with trio.testing.assert_no_checkpoints():
        async with handlers:
            pass
