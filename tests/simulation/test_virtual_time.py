"""The scheduler of virtual time: processes whose steps take time, and patches that are meant for one thread."""

from __future__ import annotations

import threading

import trio

from kraft.simulation import virtual_time
from kraft.simulation.virtual_time import Process, in_this_thread


def test_only_the_thread_of_the_test_meets_the_replacement() -> None:
    def original(number: int, *, sign: int) -> int:
        return number * sign

    said: list[int] = []
    function = in_this_thread(lambda number, *, sign: 0, original)
    other = threading.Thread(target=lambda: said.append(function(7, sign=-1)))
    other.start()
    other.join()
    assert (said, function(7, sign=-1)) == ([-7], 0)


async def _two_nodes(log: list[tuple[float, str]]) -> None:
    """A process works for 2 s in one of its tasks; another process ticks meanwhile."""
    busy, other = Process(), Process()

    async def tick(process: Process, name: str) -> None:
        process.enter()
        for _ in range(4):
            log.append((process.now(), name))
            await trio.sleep(1)

    async def work() -> None:
        busy.enter()
        await trio.sleep(0.5)
        busy.work(1.5)
        busy.work(0.5)
        log.append((busy.now(), "worked"))
        await trio.lowlevel.checkpoint()
        log.append((trio.current_time(), "goes on"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick, busy, "busy")
        nursery.start_soon(tick, other, "other")
        nursery.start_soon(work)


def test_a_step_that_works_holds_all_tasks_of_its_process_and_no_others() -> None:
    """Process.work: "No other task of it runs until the step ends"; "Other processes go on meanwhile"."""
    log: list[tuple[float, str]] = []
    virtual_time.run(_two_nodes, log)
    times = {name: [at for at, what in log if what == name] for name in ("busy", "other", "worked", "goes on")}
    assert times == {"busy": [0, 2.5, 3.5, 4.5], "other": [0, 1, 2, 3], "worked": [2.5], "goes on": [2.5]}


def test_a_process_that_works_gives_each_task_its_step_before_any_has_two() -> None:
    """Process.work: "the rest of the batch runs before the tasks that were woken meanwhile"."""
    order: list[str] = []

    async def main() -> None:
        process = Process()
        process.enter()

        async def work(name: str) -> None:
            for _ in range(5):
                order.append(name)
                process.work(1)
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            for name in "abcd":
                nursery.start_soon(work, name)
        assert trio.current_time() == 20

    virtual_time.run(main, seed=3)
    assert [sorted(order[start : start + 4]) for start in range(0, 20, 4)] == [list("abcd")] * 5


def test_a_process_that_is_paused_while_it_works_goes_on_after_both() -> None:
    async def main() -> None:
        process = Process()
        times: list[float] = []

        async def work() -> None:
            process.enter()
            process.work(1)
            await trio.lowlevel.checkpoint()
            times.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await trio.sleep(0.5)
            process.pause()
            await trio.sleep(2)
            process.resume()
            await trio.sleep(0.5)
            nursery.start_soon(work)
            await trio.sleep(0.5)
            process.interrupt()
            await trio.sleep(0.1)
        assert times == [2.5, 3.5], "a kill waits for nothing"

    virtual_time.run(main)
