"""Long work in slices: other tasks run in between, and wait for one slice whatever the number of long tasks."""

from __future__ import annotations

from collections.abc import Generator

import trio

from kraft.world.slices import (
    Slices,
    before_long_work,
    in_another_queue,
    in_slices,
    next_slice,
    pause_long_work,
    queue_of_node,
)
from tests.support.rounds import Rounds
from tests.support.steps import steps_of_this_task


async def test_each_slice_ends_with_a_turn_for_other_tasks() -> None:
    """Slices: "The first slice is an eighth of that", Slices.spend: "let other tasks run if the slice is used up"."""
    slices = Slices(16)
    async with steps_of_this_task() as steps:
        for number in range(1, 60):
            await slices.spend()
            assert steps.count == (number + 14) // 16


async def test_the_costs_fill_the_slices() -> None:
    """in_slices counts what the work yields, not its steps: 10 of 10, 80 of 80, 80 of 80."""

    def work() -> Generator[int, None, str]:
        yield from (5, 5, 160, 8, 8, 64)
        return "done"

    async with steps_of_this_task() as steps:
        result = await in_slices(work(), every=80)
        assert (steps.count, result) == (3, "done")


async def test_a_task_that_has_more_than_its_first_slice_is_told_before_it_waits() -> None:
    """before_long_work: "Awaited by the running task after each of its slices"."""
    told = 0

    async def tell() -> None:
        nonlocal told
        told += 1

    async def work() -> None:
        before_long_work.set(tell)
        slices = Slices(8)
        assert told == 0
        await slices.spend()
        assert told == 1
        await slices.spend(8)
        assert told == 2

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)


async def test_one_of_many_long_tasks_continues_in_each_round() -> None:
    """ "Of all tasks that call this, one continues in each round of the scheduler.\""""
    slices = rounds = 0

    async def long_work() -> None:
        nonlocal slices
        for _ in range(20):
            await next_slice()
            slices += 1

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(long_work)
        while slices < 200:
            await trio.lowlevel.checkpoint()
            rounds += 1
    assert rounds >= 199


async def test_nodes_with_lines_of_their_own_do_not_wait_for_each_other() -> None:
    """queue_of_node: a simulation runs several nodes in one event loop."""
    held = trio.Lock()
    await held.acquire()

    async def waits_for_ever() -> None:
        queue_of_node.set(held)
        await next_slice()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits_for_ever)
        with trio.fail_after(5):
            await next_slice()
            await next_slice()
        nursery.cancel_scope.cancel()


async def test_work_in_another_queue_does_not_wait_for_the_long_work_of_others() -> None:
    """KIP-291: the requests of a controller do not queue behind those of clients. Ten clients take ten rounds to have a
    slice each.
    """
    rounds = 0
    finished_after = {"client": 0, "controller": 0}

    async def long_work(name: str) -> None:
        for _ in range(5):
            await next_slice()
        finished_after[name] = rounds

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(long_work, "client")
        with in_another_queue():
            nursery.start_soon(long_work, "controller")
        while not all(finished_after.values()):
            await trio.lowlevel.checkpoint()
            rounds += 1
    assert finished_after["controller"] < 10
    assert finished_after["client"] > 40


async def test_a_cancelled_task_leaves_the_queue() -> None:
    """A task that is cancelled before it continues does not hold up the others."""

    async def long_work() -> None:
        while True:
            await next_slice()

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(long_work)
        await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    with trio.fail_after(5):
        await next_slice()


async def test_long_work_pauses_while_a_request_of_the_control_plane_goes_on() -> None:
    """pause_long_work: "Let the next round of the scheduler pass without a slice of long work"."""
    slices, pauses = list[int](), list[int]()

    async def long_work() -> None:
        while True:
            slices.append(rounds.now)
            await next_slice()

    with Rounds() as rounds:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(long_work)
            for number in range(300):
                if number % 10 == 9:
                    pauses.append(rounds.now)
                    pause_long_work()
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert not {each + 1 for each in pauses} & set(slices)
    assert len(slices) > 200


async def test_requests_of_the_control_plane_do_not_stop_long_work() -> None:
    """_LONGEST_PAUSE: "So many requests of the control plane delay long work, but do not stop it"."""
    slices = 0

    async def long_work() -> None:
        nonlocal slices
        while True:
            slices += 1
            await next_slice()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(long_work)
        for _ in range(100):
            pause_long_work()
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert 100 // (8 + 2) <= slices <= 100 // 8 + 2
